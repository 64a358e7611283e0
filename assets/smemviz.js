// The browser's part of the dashboard. All state is in the URL: controls write it, `read` takes it apart, and the
// page follows.
(function () {
  "use strict";

  const { names, ids, isConstant, pageAt, entitle, query, visitQuery, go, goLater, markFrame } = window.smemviz;
  const { unchanged, changed, same, triggered } = window.smemviz;

  let typed = {}; // what is being typed, by name in the URL, until the typing pauses
  let settled = {}; // what the server said and a control has shown; what it shows now may be newer
  const written = {}; // what was written into controls and will be reported back as if somebody had typed it
  let pickedByHand = null; // the launches to compare, as they were last written into the URL
  let pause = 0;
  const PAUSE = 150; // ms
  let keyed = -PAUSE; // when something was last typed, which more may follow
  let taken = -PAUSE; // when a change was last taken over

  const OF_SITE = ["warp", "step"]; // which of its requests in a block

  // What changes what is run or counted leaves the eye where it is: on the access that is shown, clicked or not.
  const KEEPS_PLACE = ["cc", "source", "launch", "block"];
  function withPlace(changes) {
    const moves = Object.keys(changes).some((name) => KEEPS_PLACE.includes(name) || isConstant(name));
    return moves && window.smemviz.place && !query().has("site") ? { ...changes, at: window.smemviz.place } : changes;
  }

  function takeTyped() {
    window.clearTimeout(pause);
    const changes = withPlace(typed);
    typed = {};
    taken = performance.now();
    for (const [name, value] of Object.entries(changes)) settled[name] = String(value); // the server will say the same
    go(changes);
  }

  function choicesOf(shownLook, name) {
    const names = (shownLook && shownLook.options[name]) || [];
    const label =
      { block: (n) => gettext("block {n}", { n }), launch: (n) => gettext("launch {n}", { n: Number(n) + 1 }) }[name] ||
      ((n) => n);
    return names.map((value) => ({ value, label: label(value) }));
  }

  // What a control should show now, if that is not what it shows, or what has been typed into it since.
  function newValue(name, shown, value) {
    const asked = query();
    const wanted = name in shown ? shown[name] : asked.get(name);
    if (wanted === null || wanted === undefined || name in typed) return unchanged();
    const old = settled[name] === String(wanted); // then what differs from it was typed since
    if (wanted === value) settled[name] = String(wanted);
    if (wanted === value || old) return unchanged();
    written[name] = String(wanted);
    return wanted;
  }

  // On a narrow screen the kernels stand in a row that scrolls, and the one that is shown is to be seen in it.
  function showCurrentKernel() {
    const row = document.getElementById(ids.KERNELS);
    const current = row && row.querySelector(".current");
    if (current) row.scrollLeft = current.offsetLeft + (current.offsetWidth - row.clientWidth) / 2;
  }

  // Show in a control what the page has chosen: that is no choice of the reader's.
  window.smemviz.write = function (name, value) {
    if (settled[name] === value) return;
    settled[name] = value;
    written[name] = value;
    window.dash_clientside.set_props({ type: ids.CONTROL, name }, { value });
  };

  // What the URL says, as the stores have it.
  function stores() {
    const asked = query();
    const here = window.location.pathname;
    const plays = names.plays.includes(here) && asked.has("site"); // there the browser finds the request by itself
    // A name that is there more than once, the launches to compare, has its values on lines of their own.
    const pick = (wanted) =>
      Object.fromEntries([...asked.keys()].filter(wanted).map((name) => [name, asked.getAll(name).join("\n")]));
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = asked.get("theme") || (dark ? "dark" : "light");
    return {
      // The editor stays the same page whatever text it has run.
      place: { path: here.slice(names.prefix.length), file: here === names.editor ? null : asked.get("file") },
      run: pick((name) => names.run.includes(name) || isConstant(name)),
      look: { ...pick((name) => names.look.includes(name) && !(plays && OF_SITE.includes(name))), theme },
      theme,
      plays,
    };
  }
  window.smemviz.stores = stores;

  window.dash_clientside.smemviz = {
    read(href, place, run, look, theme) {
      const asked = query();
      const banks = asked.get("banks");
      if (banks !== null && !(/^\d+$/.test(banks) && banks >= 1 && banks <= names.most_banks)) {
        asked.delete("banks"); // a link that was written by hand; the field shows what is drawn
        goLater({ banks: null });
      }
      const { plays, ...next } = stores();
      markFrame(window.location.pathname, next.theme);
      if (!same(place, next.place)) {
        document.title = (pageAt(window.location.pathname) || { title: names.nowhere }).title; // until the page says more
        settled = {}; // another page has other controls
        window.smemviz.place = null; // and shows another access
      }
      const now = Object.entries({ place, run, look, theme }).map(([name, old]) => (same(old, next[name]) ? unchanged() : next[name]));
      if (plays && now.every((store) => store === unchanged())) window.dispatchEvent(new Event("placed"));
      if (next.theme !== theme) window.dash_clientside.set_props(ids.PROVIDER, { forceColorScheme: next.theme });
      return now;
    },

    // Only what came by a link or by Back: what is picked by hand is there already, and picked on meanwhile.
    show_picks(run, standard, offered, picks) {
      const asked = query().getAll("launch");
      const next = asked.length ? asked : standard;
      const known = new Set((offered || []).flatMap(({ items }) => items.map(({ value }) => value)));
      const refused = !next || !next.every((pick) => known.has(pick));
      return refused || same(asked, pickedByHand) || same(next, picks) ? unchanged() : next;
    },

    pick_launches(picks, standard) {
      if (!picks || (!picks.length && !standard)) return; // the page has just come, refused
      const next = query();
      next.delete("launch");
      if (!same(picks, standard)) for (const pick of picks) next.append("launch", pick);
      pickedByHand = picks.length ? next.getAll("launch") : null; // without any all come back, in the field as well
      visitQuery(next, false);
    },

    set_against(value) {
      go({ against: (value || "").trim() });
    },

    set_control(values, shownRun, shownLook) {
      if (!shownRun) return;
      const shown = { ...shownRun.values, ...(shownLook && shownLook.values) };
      const asked = query();
      for (const { id, value } of triggered()) {
        const echo = String(value) === written[id.name];
        if (echo) settled[id.name] = String(value);
        delete written[id.name];
        const constant = isConstant(id.name);
        if (echo || value === undefined || (value === null && !constant) || !(shownLook || constant)) continue;
        const now = asked.has(id.name) ? asked.get(id.name) : shown[id.name];
        if (String(value) !== String(now)) typed[id.name] = value;
        else delete typed[id.name];
      }
      window.clearTimeout(pause);
      // A choice or a click on an arrow counts at once; typing, and a row of clicks, when they pause.
      const wait = Math.max(keyed, taken) + PAUSE - performance.now();
      if (Object.keys(typed).length) pause = window.setTimeout(takeTyped, Math.max(wait, 0));
    },

    // Write into the controls what the server found, but not over what is being typed.
    show_controls(shownRun, shownLook, controls, values, notes, disabled, block, ...options) {
      if (shownRun && shownRun.title) entitle(shownRun.title);
      window.setTimeout(showCurrentKernel); // the links are placed by then
      const shown = { ...(shownRun && shownRun.values), ...(shownLook && shownLook.values) };
      const tell = (id, props) => window.dash_clientside.set_props(id, props);
      controls.forEach((id, i) => {
        const next = { value: newValue(id.name, shown, values[i]), description: changed(shownRun && shownRun.notes[id.name], notes[i]) };
        const props = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== unchanged()));
        if (Object.keys(props).length) tell(id, props);
      });
      const locked = !(shownRun && shownRun.switchable);
      if (locked !== disabled) tell({ type: ids.CONTROL, name: "source" }, { disabled: locked });
      names.choices.forEach((name, i) => {
        const data = choicesOf(shownLook, name);
        if (same(data, options[i])) return;
        tell({ type: ids.CONTROL, name }, { data });
        tell({ type: ids.CHOICE, name }, { hidden: data.length < 2 });
      });
      return changed(shownLook ? shownLook.values.block : null, block);
    },

    reset(clicks) {
      const constants = [...query().keys()].filter((name) => isConstant(name));
      typed = {};
      settled = {};
      if (clicks) go(withPlace(Object.fromEntries(constants.map((name) => [name, null]))));
    },
  };

  window.addEventListener("popstate", () => {
    typed = {};
    settled = {};
  });
  document.addEventListener("input", () => (keyed = performance.now()), true);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    keyed = -PAUSE; // what was typed may be on its way here still, and need not wait either
    if (Object.keys(typed).length) takeTyped();
  });
})();
