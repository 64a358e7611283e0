// What the scripts of all pages share; by its name it is loaded before them. All state is in the URL, and this is how
// it is read and written.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};

  // What the server calls the pages, what stands in their URLs, and the controls.
  const names = JSON.parse(document.getElementById("names").textContent);
  const { ids } = names;
  const CONSTANT = new RegExp(names.constant);
  const query = () => {
    settleSteps();
    return new URLSearchParams(window.location.search);
  };
  const unchanged = () => window.dash_clientside.no_update;
  const changed = (next, old) => (next === undefined || next === null || next === old ? unchanged() : next);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  const MOVED = "_dashprivate_pushstate"; // what dcc.Location listens to

  // Go to an address of this dashboard. Replacing leaves no step for Back to return to.
  function visit(url, replace) {
    // The editor's text is in the link, behind the #, and stays there.
    const text = url.startsWith(`${names.editor}?`) && !url.includes("#") && window.location.pathname === names.editor;
    const next = url + (text ? window.location.hash : "");
    if (next === window.location.pathname + window.location.search + window.location.hash) return;
    window.history[replace ? "replaceState" : "pushState"]({}, "", next);
    window.dispatchEvent(new CustomEvent(MOVED));
  }

  // A step changes the URL without Dash, for nothing has to be asked for it. The first does at once, those that follow it
  // a moment later: browsers take only so many changes a second.
  const PAUSE = 200; // ms
  let late = null;
  let changedLast = -PAUSE;

  function settleSteps() {
    if (!late) return;
    const { at, changes } = late;
    window.clearTimeout(late.timer);
    late = null;
    changedLast = performance.now();
    if (at !== window.location.href) return; // another page came first
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) next.delete(name);
      else next.set(name, value);
    }
    window.history.replaceState(window.history.state, "", `${window.location.pathname}?${next}${window.location.hash}`);
  }

  function goLater(changes) {
    if (late) window.clearTimeout(late.timer);
    const wait = Math.max(changedLast + PAUSE - performance.now(), 0);
    late = { at: window.location.href, changes, timer: window.setTimeout(settleSteps, wait) };
    if (!wait) settleSteps();
  }
  document.addEventListener("click", settleSteps, true);
  window.addEventListener("pagehide", settleSteps);

  // Go to this page with another query, as URLSearchParams.
  function visitQuery(next, replace) {
    if (next.toString() === query().toString()) return;
    const text = next.toString();
    visit(window.location.pathname + (text && `?${text}`), replace);
  }

  // Change some of the URL's query; null takes a name out.
  function go(changes, replace) {
    const next = query();
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") next.delete(name);
      else next.set(name, value);
    }
    visitQuery(next, replace);
  }

  const isConstant = (name) => CONSTANT.test(name);
  const pageAt = (wanted) =>
    names.pages.find(({ path, below }) => wanted === path || (below && wanted.startsWith(`${path}/`)));

  // Say in the browser's tab what the page shows.
  function entitle(text) {
    document.title = `${text} - smemviz`;
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

  // Hand over a file that is made here.
  function handOver(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  window.smemviz = {
    ...{ names, ids, MOVED, isConstant, pageAt, entitle, query, unchanged, changed, same, visit, visitQuery, go, goLater },
    ...{ triggered, clicked, handOver },
  };
})();
