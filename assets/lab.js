// The browser's part of the layout lab: its controls are the texts of its URL, taken apart and put together again.
(function () {
  "use strict";

  const { ids, query, unchanged, visitQuery, triggered } = window.smemviz;
  const MATRIX = /^((ld|st)matrix_|wgmma$)/;
  const NUMBERS = ["across", "warps", "steps"];
  let shown = null; // the request that is pictured
  // By control, what was put into it and taken out of it since somebody last touched one. A control that waits for typing
  // to pause reports what it was filled with late, perhaps when Back has changed the URL meanwhile: nobody chose that.
  const ours = new Map();
  let ticked = null; // what the box was last filled with, or ticked to

  const keyOf = ({ side = "", name, at = "" }) => `${side} ${name} ${at}`;
  const text = (value) => String(value === null || value === undefined ? "" : value).trim();

  // Write into a control; returns what Dash is to take over.
  function fillIn(id, value, old) {
    if (text(value) === text(old)) return unchanged();
    ours.set(keyOf(id), [...(ours.get(keyOf(id)) || []), text(old), text(value)]);
    return value;
  }

  // Whether what a control reports is what it was filled with; then it shows again what it should.
  function isOurs(id, reported, wanted) {
    if (!(ours.get(keyOf(id)) || []).includes(reported)) return false;
    window.dash_clientside.set_props(id, { value: wanted });
    return true;
  }

  for (const kind of ["pointerdown", "click", "keydown", "input"]) {
    document.addEventListener(kind, (event) => {
      const goesBack = event.altKey || event.metaKey || event.ctrlKey || event.button > 0;
      if (!goesBack && event.target.closest(".lab-fields, .lab-access, .lab-look, [role=listbox]")) ours.clear();
    }, true);
  }

  function put(next, name, values) {
    next.delete(name);
    for (const value of values) next.append(name, value);
  }

  // "first; name=value; ..." as { "": first, name: value }.
  function apart(whole) {
    const [first, ...options] = text(whole).split(";");
    const found = { "": first.trim() };
    for (const option of options) {
      const at = option.indexOf("=");
      if (at > 0) found[option.slice(0, at).trim()] = option.slice(at + 1).trim();
    }
    return found;
  }

  function together(first, options) {
    const given = Object.entries(options).filter(([, value]) => value !== "");
    return [first, ...given.map(([name, value]) => `${name}=${value}`)].join("; ");
  }

  // What a set-up has, its own or what it takes from A and from the page's defaults.
  function setup(side, defaults) {
    const asked = query();
    const own = (name, other) => (asked.has(name) ? asked.getAll(name) : other);
    const first = { array: own("A", [defaults.A])[0], accesses: own("A-access", defaults["A-access"].split("\n")) };
    first.cc = own("cc", [defaults.cc])[0];
    if (side === "A") return first;
    const accesses = own("B-access", first.accesses);
    return { array: own("B", [first.array])[0], accesses, cc: own("B-cc", [first.cc])[0] };
  }

  function valueOf({ side, name, at }, defaults) {
    const { array, accesses, cc } = setup(side, defaults);
    if (name === "cc") return cc;
    if (name === "same") return unchanged();
    const parts = apart(array);
    const [shape, ...dtype] = parts[""].split(" ");
    if (name === "shape") return shape;
    if (name === "dtype") return dtype.join(" ") || "float32";
    if (name === "swizzle") return parts.swizzle || "";
    if (name === "pad" || name === "base") return parts[name] ? Number(parts[name]) : 0;
    if (name === "pitch") return parts.pitch ? Number(parts.pitch) : "";
    const access = apart(at < accesses.length ? accesses[at] : "row");
    if (name === "pattern") return access[""];
    if (name === "op") return access.op || "load";
    if (name === "width") return access.width || "element";
    return access[name] ? Number(access[name]) : "";
  }

  function arrayOf(read) {
    const zero = (name) => (Number(read(name)) ? read(name) : "");
    const shape = read("shape").replace(/\s+/g, "").replace(/[×,*]/g, "x");
    const options = { pitch: read("pitch"), pad: zero("pad"), base: zero("base"), swizzle: read("swizzle") };
    return together(`${shape} ${read("dtype")}`, options);
  }

  // Matrices are moved by instructions of their own, so that the one brings the other.
  function accessOf(read, changed, patterns) {
    let [pattern, op, width] = [read("pattern"), read("op"), read("width").replace("element", "")];
    if (changed === "pattern") {
      if (pattern === "matrices" && !MATRIX.test(op)) op = "ldmatrix_x4";
      else if (patterns.includes(pattern) && pattern !== "matrices" && MATRIX.test(op)) op = "load";
    } else if (changed === "op") {
      if (MATRIX.test(op) && patterns.includes(pattern)) pattern = "matrices";
      else if (!MATRIX.test(op) && pattern === "matrices") pattern = "row";
    }
    if (MATRIX.test(op)) width = "";
    const options = { op: op === "load" ? "" : op, width };
    for (const name of NUMBERS) options[name] = read(name);
    if (!["tile", "matrices"].includes(pattern)) options.across = "";
    if (options.warps === "1") options.warps = "";
    return together(pattern, options);
  }

  // Of a set-up and an access that went with the old ones, forget which request was pictured.
  function forget(next) {
    next.delete("ACCESS");
    next.delete("REQUEST");
  }

  // A field that offers a list shows all of it, but for what is being typed.
  window.dashMantineFunctions = window.dashMantineFunctions || {};
  window.dashMantineFunctions.allOrAlike = ({ options, search }) =>
    options.some(({ value }) => value === search) ? options : options.filter(({ value }) => value.includes(search));

  // What is set is seen, though it is folded.
  function unfold({ at, name, side, type }) {
    const field = document.getElementById(JSON.stringify({ at, name, side, type }));
    if (field) field.closest("details").open = true;
  }

  window.dash_clientside.smemviz_lab = {
    fill(run, controls, values, rows, buttons, defaults) {
      const asked = query();
      const lone = !asked.has("B");
      const shared = !asked.has("B-access");
      const count = (side) => setup(side, defaults).accesses.length;
      const next = controls.map((id) => valueOf(id, defaults));
      ticked = shared;
      controls.filter(({ name }, i) => NUMBERS.includes(name) && next[i] !== "").forEach(unfold);
      const hidden = ({ side, name, at }) =>
        ({ compare: !lone, add: count(side) >= defaults.most, remove: count(side) < 2 || at >= count(side) })[name] || false;
      return [
        next.map((value, i) => fillIn(controls[i], value, values[i])),
        [shared],
        rows.map(({ side, at }) => at >= count(side)),
        buttons.map(hidden),
        lone,
        lone,
        shared,
      ];
    },

    set(values, controls, defaults) {
      const next = query();
      for (const { id } of triggered()) {
        const { side, name, at } = id;
        const read = (wanted) => {
          const access = !["shape", "dtype", "pad", "pitch", "base", "swizzle"].includes(wanted);
          const i = controls.findIndex((one) => one.side === side && one.name === wanted && one.at === (access ? at : 0));
          return text(values[i]);
        };
        if (name === "same" || text(valueOf(id, defaults)) === read(name)) continue;
        if (side === "B" && !next.has("B")) continue;
        if (isOurs(id, read(name), valueOf(id, defaults))) continue;
        if (name === "cc") next.set(side === "A" ? "cc" : "B-cc", read("cc"));
        else if (["shape", "dtype", "pad", "pitch", "base", "swizzle"].includes(name)) next.set(side, arrayOf(read));
        else {
          const accesses = [...setup(side, defaults).accesses];
          if (at >= accesses.length) continue;
          accesses[at] = accessOf(read, name, defaults.patterns);
          put(next, `${side}-access`, accesses);
        }
      }
      visitQuery(next);
    },

    share(checked, defaults) {
      const next = query();
      if (checked[0] === ticked) return;
      ticked = checked[0];
      if (!next.has("B") || checked[0] === !next.has("B-access")) return;
      put(next, "B-access", checked[0] ? [] : setup("A", defaults).accesses);
      visitQuery(next);
    },

    press(clicks, defaults, cheapest) {
      const hit = triggered().find(({ value }) => value);
      if (!hit) return;
      const { side, name, at } = hit.id;
      const next = query();
      const here = setup(side, defaults);
      if (name === "compare") next.set("B", cheapest || setup("A", defaults).array);
      if (name === "close") ["B", "B-access", "B-cc"].forEach((one) => next.delete(one));
      if (name === "swap") {
        const [a, b] = [setup("A", defaults), setup("B", defaults)];
        const own = next.has("B-access") || next.has("B-cc");
        next.set("A", b.array);
        next.set("B", a.array);
        if (own) {
          [["A-access", b.accesses], ["B-access", a.accesses], ["cc", [b.cc]], ["B-cc", [a.cc]]].forEach((pair) =>
            put(next, ...pair));
        }
      }
      if (name === "add") put(next, `${side}-access`, [...here.accesses, "row"]);
      if (name === "remove") {
        put(next, `${side}-access`, here.accesses.filter((_, i) => i !== at));
        forget(next);
      }
      visitQuery(next);
    },

    show_look(state, controls, values) {
      shown = state;
      if (!state) return [controls.map(unchanged), unchanged(), unchanged()];
      return [controls.map((id, i) => fillIn(id, state[id.name], values[i])), state.options, Math.max(state.count, 1)];
    },

    look(values, controls, state) {
      if (!state) return;
      const next = query();
      controls.forEach((id, i) => {
        const { name } = id;
        const value = text(values[i]);
        if (!value || value === text(state[name]) || isOurs(id, value, state[name])) return;
        next.set(name, value);
        if (name === "ACCESS") next.delete("REQUEST");
      });
      if (next.get("VIEW") === "index") next.delete("VIEW");
      visitQuery(next, true);
    },
  };

  // Left and right go from request to request.
  document.addEventListener("keydown", (event) => {
    const taken = "input, textarea, select, [role=slider], [role=option], [role=radio], .scroller";
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(taken)) return;
    if (!document.getElementById(ids.LAB_PAGE) || !shown || !shown.count) return;
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const wanted = shown.REQUEST + (event.key === "ArrowLeft" ? -1 : 1);
    if (wanted < 1 || wanted > shown.count) return;
    const next = query();
    next.set("ACCESS", shown.ACCESS);
    next.set("REQUEST", wanted);
    visitQuery(next, true);
  });
})();
