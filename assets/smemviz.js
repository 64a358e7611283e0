// The browser's part of the dashboard. All state is in the URL: controls write it, `read` takes it apart, and the
// page follows. Only playback has a state of its own, whether it is running.
(function () {
  "use strict";

  const LOOK = ["block", "site", "warp", "step", "view", "banks", "array", "elements", "scope"];
  const CHOICES = ["array", "block", "elements", "launch"]; // as in browser.py
  const RUN = ["file", "kernel", "launch", "source", "cc", "against"];
  const KEPT = ["theme", "lang"]; // by every link inside the page
  const KEPT_IN_FILE = ["view", "banks", "scope", "speed"]; // by links between kernels of one file
  const CONSTANT = /^_?[A-Z]/;

  let order = { site: [], warp: [], step: [] }; // of the block shown: the requests as they are played
  let shownPosition = 0;
  let timer = 0;
  let stepped = 0; // when the last step was asked for
  let typed = {}; // what is being typed, by name in the URL, until the typing pauses
  let settled = {}; // what the server said and a control has shown; what it shows now may be newer
  const written = {}; // what was written into controls and will be reported back as if somebody had typed it
  let pickedByHand = null; // the launches to compare, as they were last written into the URL
  let pause = 0;
  const PAUSE = 150; // ms
  let keyed = -PAUSE; // when something was last typed, which more may follow
  let taken = -PAUSE; // when a change was last taken over

  const query = () => new URLSearchParams(window.location.search);
  const unchanged = () => window.dash_clientside.no_update;
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  function visit(url, replace) {
    // The editor's text is in the link, behind the #, and stays there.
    const text = url.startsWith("/editor?") && window.location.pathname === "/editor" ? window.location.hash : "";
    window.history[replace ? "replaceState" : "pushState"]({}, "", url + text);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate")); // what dcc.Location listens to
  }

  // Change some of the URL's query; null takes a name out. Replacing leaves no step for Back to return to.
  function go(changes, replace) {
    const next = query();
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") next.delete(name);
      else next.set(name, value);
    }
    if (next.toString() !== query().toString()) visit(`${window.location.pathname}?${next}`, replace);
  }

  function takeTyped() {
    window.clearTimeout(pause);
    const changes = typed;
    typed = {};
    taken = performance.now();
    for (const [name, value] of Object.entries(changes)) settled[name] = String(value); // the server will say the same
    go(changes);
  }

  function position() {
    const asked = query();
    const warp = Number(asked.get("warp"));
    const step = Number(asked.get("step"));
    if (asked.has("warp") && asked.has("step")) {
      const found = order.warp.findIndex((w, i) => w === warp && order.step[i] === step);
      if (found >= 0) return found;
    }
    return shownPosition;
  }

  // Where in the header's list the reader is; kernels and lessons belong to the page that leads to them.
  function markPage(path) {
    const first = `/${path.split("/")[1]}`;
    for (const link of document.querySelectorAll(".site-header nav a")) {
      const there = new URL(link.href).pathname;
      if (there === path) link.setAttribute("aria-current", "page");
      else if (there === first || (there === "/" && first === "/kernel")) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  function goToPosition(wanted) {
    const i = Math.min(Math.max(wanted, 0), order.warp.length - 1);
    stepped = performance.now();
    if (i >= 0) go({ site: order.site[i], warp: order.warp[i], step: order.step[i] }, true);
  }

  const changed = (next, old) => (next === undefined || next === null || next === old ? unchanged() : next);

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

  // One step after the picture of the last has come, so that a slow machine plays slowly and skips nothing.
  function playOn(playing) {
    window.clearTimeout(timer);
    if (!playing) return;
    const pace = 1000 / Number(query().get("speed") || 4);
    timer = window.setTimeout(() => {
      if (!document.getElementById("tile")) return;
      if (position() >= order.warp.length - 1) window.dash_clientside.set_props("playing", { data: false });
      else goToPosition(position() + 1);
    }, Math.max(0, stepped + pace - performance.now()));
  }

  // What was clicked or changed: [{ id, value }], ids of pattern-matched components being objects.
  function triggered() {
    return window.dash_clientside.callback_context.triggered.map(({ prop_id, value }) => {
      const id = prop_id.slice(0, prop_id.lastIndexOf("."));
      return { id: id.startsWith("{") ? JSON.parse(id) : id, value };
    });
  }

  function clicked() {
    const hit = triggered().find(({ value }) => value);
    return hit && hit.id;
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.smemviz = {
    read(href, place, run, look, theme) {
      const asked = query();
      // A name that is there more than once, the launches to compare, has its values on lines of their own.
      const pick = (wanted) =>
        Object.fromEntries([...asked.keys()].filter(wanted).map((name) => [name, asked.getAll(name).join("\n")]));
      const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
      const chosen = asked.get("theme") || (dark ? "dark" : "light");
      const next = [
        // The editor stays the same page whatever text it has run.
        { path: window.location.pathname, file: window.location.pathname === "/editor" ? null : asked.get("file") },
        pick((name) => RUN.includes(name) || CONSTANT.test(name)),
        { ...pick((name) => LOOK.includes(name)), theme: chosen },
        chosen,
      ];
      const name = {
        "/compare": () => gettext("Compare"),
        "/gpus": () => gettext("GPUs"),
        "/editor": () => gettext("Editor"),
        "/numbers": () => gettext("What the numbers mean"),
      }[next[0].path];
      if (name) document.title = `${name()} - smemviz`;
      else if (next[0].path === "/") document.title = "smemviz";
      markPage(next[0].path);
      if (!same(place, next[0])) settled = {}; // another page has other controls
      const stores = [place, run, look, theme].map((old, i) => (same(old, next[i]) ? unchanged() : next[i]));
      return [...stores, chosen, chosen === "dark" ? gettext("Switch to the light theme") : gettext("Switch to the dark theme")];
    },

    // A page's places are there only once it has come.
    show_place() {
      const id = decodeURIComponent(window.location.hash.slice(1));
      if (!id || window.location.pathname === "/editor") return;
      window.setTimeout(() => {
        const place = document.getElementById(id);
        if (place) place.scrollIntoView();
      });
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
      pickedByHand = next.getAll("launch");
      if (next.toString() !== query().toString()) visit(`${window.location.pathname}?${next}`, false);
    },

    set_against(value) {
      go({ against: (value || "").trim() });
    },

    toggle_theme(clicks, theme) {
      go({ theme: theme === "dark" ? "light" : "dark" });
    },

    set_control(values, shownRun, shownLook) {
      if (!shownRun) return;
      const shown = { ...shownRun.values, ...(shownLook && shownLook.values) };
      const asked = query();
      for (const { id, value } of triggered()) {
        const echo = String(value) === written[id.name];
        if (echo) settled[id.name] = String(value);
        delete written[id.name];
        const constant = CONSTANT.test(id.name);
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
    show_controls(shownRun, shownLook, ids, values, notes, disabled, block, ...options) {
      if (shownRun && shownRun.title) document.title = `${shownRun.title} - smemviz`;
      const shown = { ...(shownRun && shownRun.values), ...(shownLook && shownLook.values) };
      const choices = CHOICES.map((name) => choicesOf(shownLook, name));
      const known = choices.map((next, i) => same(next, options[i]));
      const locked = !(shownRun && shownRun.switchable);
      return [
        ids.map(({ name }, i) => newValue(name, shown, values[i])),
        ids.map(({ name }, i) => changed(shownRun && shownRun.notes[name], notes[i])),
        changed(locked, disabled),
        changed(shownLook ? shownLook.values.block : null, block),
        ...choices.map((next, i) => (known[i] ? unchanged() : next)),
        ...choices.map((next, i) => (known[i] ? unchanged() : next.length < 2)),
      ];
    },

    reset(clicks) {
      const constants = [...query().keys()].filter((name) => CONSTANT.test(name));
      typed = {};
      settled = {};
      if (clicks) go(Object.fromEntries(constants.map((name) => [name, null])));
    },

    pick_site() {
      const id = clicked();
      if (id) go({ site: id.index, step: null });
    },

    // A site has two rows, its name and its cells; the same cell can be clicked again once the click is forgotten.
    pick_cell(click) {
      if (!click) return unchanged();
      const { x, y } = click.points[0];
      if (y % 2 === 1) go({ site: (y - 1) / 2, warp: x, step: null });
      return null;
    },

    keep_order(next) {
      order = next || { site: [], warp: [], step: [] };
      return Math.max(order.warp.length - 1, 1);
    },

    pick_position(value, present) {
      if (present && value !== present.position) goToPosition(value);
    },

    go_to() {
      const id = clicked();
      if (!id) return;
      goToPosition({ first: 0, previous: position() - 1, next: position() + 1, last: order.warp.length - 1 }[id.to]);
    },

    toggle_play(clicks, playing) {
      if (!playing && position() >= order.warp.length - 1) goToPosition(0);
      return !playing;
    },

    show_present(present, source, playing, ids, pressed, className) {
      if (present) shownPosition = present.position;
      playOn(playing);
      const next = `icon-button ${playing ? "pause" : "play"}`;
      return [
        present ? shownPosition : unchanged(),
        ids.map(({ index }, i) => changed(String(Boolean(present) && present.site === index), pressed[i])),
        changed(next, className),
        next === className ? unchanged() : playing ? gettext("Pause") : gettext("Play"),
      ];
    },
  };

  window.addEventListener("popstate", () => {
    typed = {};
    settled = {};
  });
  document.addEventListener("input", () => (keyed = performance.now()), true);
  document.addEventListener("keyup", (event) => {
    if (event.key === "Enter" && Object.keys(typed).length) takeTyped();
  });

  // Links inside the page keep the theme, and between kernels of one file how the picture is drawn.
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest && event.target.closest('a[href^="/"]:not([download])');
      if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const url = new URL(link.href);
      const here = query();
      const kept = url.searchParams.get("file") === here.get("file") ? [...KEPT, ...KEPT_IN_FILE] : KEPT;
      for (const name of kept) {
        if (here.has(name) && !url.searchParams.has(name)) url.searchParams.set(name, here.get(name));
      }
      event.preventDefault();
      event.stopPropagation();
      visit(url.pathname + url.search + url.hash, false);
      if (url.searchParams.get("file") !== here.get("file")) window.scrollTo(0, 0);
    },
    true,
  );

  // Another language is another document; all else in the URL stays.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="?lang="]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const next = query();
    next.set("lang", link.lang);
    window.location.assign(`${window.location.pathname}?${next}${window.location.hash}`);
  });

  // Left and right step through the requests; up and down, in the source, through the sites.
  document.addEventListener("keydown", (event) => {
    const taken = "input, textarea, select, [contenteditable], [role=slider], [role=option], [role=radio]";
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(taken)) return;
    if (!document.getElementById("tile")) return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (event.target.matches(".scroller")) return; // there the keys scroll
      event.preventDefault();
      goToPosition(position() + (event.key === "ArrowLeft" ? -1 : 1));
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && event.target.closest("#source-panel")) {
      const sites = [...document.querySelectorAll("#source button.badge")];
      const chosen = sites.findIndex((site) => site.getAttribute("aria-pressed") === "true");
      const at = sites.includes(event.target) ? sites.indexOf(event.target) : chosen;
      const next = sites[Math.min(Math.max(at + (event.key === "ArrowUp" ? -1 : 1), 0), sites.length - 1)];
      if (!next) return;
      event.preventDefault();
      next.focus();
      go({ site: JSON.parse(next.id).index, step: null });
    }
  });
})();
