// Steps through the requests of a kernel's page. They are all here: a step asks the server for nothing.
(function () {
  "use strict";

  const { ids, unchanged, same, go, goLater } = window.smemviz;
  const REST = 400; // ms without a step, after which what is less urgent follows
  const [TILE, NARROW, SERVED, AROUND] = [290, 390, 130, 66]; // pixels: the least of a tile, on a narrow screen; of how it is served; round that

  let launch = null; // what the server sent of a block: its requests, and the arrays they go to
  let place = -1; // of the present request
  let array = null; // that is drawn
  let timer = 0; // of playing
  let rest = 0;
  let drawnIn = null; // the room that the pictures had

  const at = (id) => document.getElementById(id);
  const panelOf = (id) => at(id).closest(".panel");
  const last = () => launch.block.warp.length - 1;
  // The block as it is drawn: as written, or in another layout of its arrays.
  const drawn = () => window.smemviz.inLayout(launch);
  const siteOf = (i) => launch.sites[launch.block.site[i]];
  const here = () => ({ site: launch.block.site[place], warp: launch.block.warp[place], step: launch.block.step[place] });

  // As the server finds a request: the first of the site, or of the warp at the site.
  function placeOf({ site, warp, step }) {
    const { block } = launch;
    const all = block.warp.map((_, i) => i);
    const [atSite, ofWarp, atStep] = [
      (i) => site === null || block.site[i] === site,
      (i) => block.warp[i] === warp,
      (i) => block.step[i] === step,
    ];
    const rules = [[atSite, ofWarp, atStep], [atSite, ofWarp], [atSite], [ofWarp, atStep], [ofWarp]];
    const found = rules.map((rule) => all.find((i) => rule.every((one) => one(i)))).find((i) => i !== undefined);
    return found === undefined ? -1 : found;
  }

  function inUrl() {
    const asked = window.smemviz.query();
    const number = (name) => (asked.has(name) ? Number(asked.get(name)) : null);
    return { site: number("site"), warp: number("warp"), step: number("step") };
  }

  // The pixels that the pictures may take, the tile above how its request is served: what is left of the first screen.
  function rooms() {
    const [tile, request] = [at(ids.TILE), at(ids.REQUEST)];
    const isAlone = panelOf(ids.TILE).hidden;
    const top = (isAlone ? request : tile).getBoundingClientRect().top + window.scrollY;
    const left = window.innerHeight - top - 12;
    const served = isAlone ? Math.max(left, 240) : SERVED;
    return {
      tile: { width: tile.clientWidth, height: Math.min(Math.max(left - SERVED - AROUND, window.innerWidth <= 900 ? NARROW : TILE), 900) },
      request: { width: request.clientWidth, height: served },
    };
  }

  function put(id, picture) {
    window.smemviz.put(at(id), picture);
    const panel = panelOf(id);
    window.pictures.key(panel.querySelector(".key"), picture.legend || []);
    if (id === ids.REQUEST) panel.querySelector(".note").textContent = picture.part || picture.short || "";
  }

  function draw() {
    if (!launch || !at(ids.TILE)) return;
    if (place < 0) {
      at(ids.POSITION_TEXT).textContent = gettext("No request of this block was logged");
      return;
    }
    window.smemviz.still();
    drawnIn = rooms(); // measured once, for what is drawn makes the browser lay the page out anew
    const shown = drawn();
    const request = new window.pictures.Request(launch.banks, shown, shown.block, place);
    const { site } = request;
    const doing = gettext("{access} by warp {warp}, step {step}: {cost}", {
      access: site.does,
      warp: request.warp,
      step: request.step,
      cost: request.shape.cost,
    });
    const said = gettext("{position} of {requests}: {request}", {
      position: (place + 1).toLocaleString("en"),
      requests: (last() + 1).toLocaleString("en"),
      request: doing,
    });
    if (at(ids.POSITION_TEXT).textContent !== said) at(ids.POSITION_TEXT).textContent = said;
    const named = (name) => shown.arrays.find((one) => one.name === name);
    array = named(launch.array) || (site.shared && named(site.array)) || (array && named(array.name)) || shown.arrays[0];
    if (array) put(ids.TILE, Object.assign(window.pictures.tile(request, array, drawnIn.tile), { says: sentence(request) }));
    const isBank = site.shared;
    const picture = (isBank ? window.pictures.banks : window.pictures.sectors)(request, drawnIn.request);
    nameRequest( isBank ? gettext("Banks by wavefront") : gettext("Sectors and lines"));
    put(ids.REQUEST, Object.assign(picture, { says: sentence(request) }));
    window.smemviz.place = site.at;
    mark();
  }

  // The present request, and the one that a click on a site would go to, where it is in this block.
  Object.assign(window.smemviz, {
    presentRequest: () => (launch && place >= 0 ? new window.pictures.Request(launch.banks, drawn(), drawn().block, place) : null),
    drawAgain: draw,
    requestAt(site) {
      const i = launch ? placeOf({ site, warp: place < 0 ? null : here().warp, step: null }) : -1;
      return i < 0 || launch.block.site[i] !== site ? null : new window.pictures.Request(launch.banks, drawn(), drawn().block, i);
    },
  });

  const sentence = () => at(ids.POSITION_TEXT).textContent.replace(/^[^:]*: /, "");

  // The second picture is of banks or of sectors: so are its heading, and the names of its buttons.
  function nameRequest(title) {
    const panel = panelOf(ids.REQUEST);
    const head = panel.querySelector("h2");
    if (head.textContent === title) return;
    head.textContent = title;
    for (const button of panel.querySelectorAll("[data-table], [data-save]")) {
      button.dataset[button.dataset.table ? "table" : "name"] = title;
    }
    panel.querySelector("[data-table]").setAttribute("aria-label", gettext("Table of {name}", { name: title }));
    panel.querySelector(".save > summary").setAttribute("aria-label", gettext("Save {name}", { name: title }));
  }

  // Mark the present site in the source, and say why it costs what it costs.
  function mark() {
    if (!launch || place < 0) return;
    const { site } = here();
    const moved = window.smemviz.site !== site;
    window.smemviz.site = site;
    if (moved && window.smemviz.uncoverLine) window.smemviz.uncoverLine();
    for (const badge of document.querySelectorAll("button.badge[data-site]")) {
      const isHere = Number(badge.dataset.site) === site;
      if (badge.getAttribute("aria-pressed") === String(isHere)) continue;
      badge.setAttribute("aria-pressed", String(isHere));
      if (isHere && badge.closest(`#${ids.SOURCE}`)) uncover(badge);
    }
    for (const said of document.querySelectorAll(`#${ids.WHY} > [data-site]`)) said.hidden = Number(said.dataset.site) !== site;
  }

  // A long source scrolls by itself, and the present line is to be seen in it.
  function uncover(badge) {
    const scroller = badge.closest(".scroller");
    const [inside, around] = [badge.getBoundingClientRect(), scroller.getBoundingClientRect()];
    const over = Math.max(around.top - inside.top, 0) || Math.min(around.bottom - inside.bottom, 0);
    if (!over) return;
    scroller.scrollTop -= over + Math.sign(over) * 60;
    // The first line is a whole one, below the heads.
    const heads = scroller.querySelector(".source-heads");
    const top = heads ? heads.getBoundingClientRect().bottom : around.top;
    const cut = [...scroller.querySelectorAll(".source-line:not(.source-heads)")].map((line) => line.getBoundingClientRect().top - top).find((y) => y > -2);
    if (cut) scroller.scrollTop += cut;
  }

  // What is below the first screen, and what Dash draws, follows when one rests.
  function follow() {
    const slider = ruler();
    slider.max = Math.max(last(), 1);
    slider.value = place;
    slider.setAttribute("aria-valuetext", at(ids.POSITION_TEXT).textContent);
    frameWarp();
    window.clearTimeout(rest);
    rest = window.setTimeout(rested, REST);
  }

  // The slider, which is the script's own: Dash would draw it long after the picture.
  function ruler() {
    const slot = at(ids.POSITION);
    if (slot.firstChild) return slot.firstChild;
    const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1 });
    slider.setAttribute("aria-label", gettext("Request"));
    slider.addEventListener("input", () => stepTo(Number(slider.value)));
    slot.append(slider);
    return slider;
  }

  const named = () => Object.fromEntries(Object.entries(here()).map(([name, value]) => [name, String(value)]));

  function rested() {
    if (timer || !at(ids.TILE) || place < 0) return;
    const stepped = named();
    window.dash_clientside.set_props(ids.STEPPED, { data: stepped });
    const { shared } = siteOf(place);
    if (shared && !launch.array && array) window.smemviz.write("array", array.name);
    const fold = at(ids.GLOBAL_MEMORY);
    const known = launch.globalSite === stepped.site;
    if (fold && fold.open && !known) {
      launch.globalSite = stepped.site;
      window.dash_clientside.set_props(ids.STEPPED_GLOBALLY, { data: stepped });
    }
  }

  // Frame the present warp at its site, which takes two rows: its name and its cells. A figure drawn anew is slow, a box
  // that moves over it is not.
  function frameWarp() {
    const figure = document.querySelector(`#${ids.WARPS} .js-plotly-plot`);
    const axes = figure && figure._fullLayout;
    if (!axes || !axes.xaxis || !axes.xaxis.l2p || !launch || place < 0) return;
    const { site, warp } = here();
    const { xaxis: x, yaxis: y } = axes;
    const frame = figure.querySelector(".warp-frame") || figure.appendChild(document.createElement("div"));
    const [left, right] = [x.l2p(warp - 0.5), x.l2p(warp + 0.5)].map((pixel) => pixel + x._offset);
    const [top, bottom] = [y.l2p(2 * site + 0.5), y.l2p(2 * site + 1.5)].map((pixel) => pixel + y._offset);
    frame.className = "warp-frame";
    frame.dataset.at = `${site} ${warp}`;
    Object.assign(frame.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
  }

  // Step to a request; the URL follows.
  function stepTo(wanted) {
    if (!launch || last() < 0) return;
    place = Math.min(Math.max(wanted, 0), last());
    draw();
    follow();
    goLater({ ...here(), at: null });
  }

  const pace = () => 1000 / Number(new URLSearchParams(window.location.search).get("speed") || 4);

  function play(on) {
    window.clearTimeout(timer);
    timer = 0;
    const button = at(ids.PLAY);
    if (!button) return;
    button.className = `icon-button ${on ? "pause" : "play"}`;
    button.setAttribute("aria-label", on ? gettext("Pause") : gettext("Play"));
    if (!on) return follow();
    if (place >= last()) stepTo(0);
    window.smemviz.drop(pace());
    let due = performance.now() + pace();
    const next = () => {
      if (!at(ids.TILE)) return;
      stepTo(place + 1);
      window.smemviz.drop(pace());
      if (place >= last()) return play(false);
      due = Math.max(due + pace(), performance.now()); // none is skipped: who is late plays slower
      timer = window.setTimeout(next, due - performance.now());
    };
    timer = window.setTimeout(next, pace());
  }

  // Go to the first request of a site, of the present warp or another if that is there; what is not in this block is
  // asked for.
  function goToSite(site, warp = place < 0 ? null : here().warp) {
    const changes = { site, warp, step: null, at: null };
    play(false);
    if (launch && launch.block.site.includes(site)) {
      place = placeOf({ site, warp, step: null });
      draw();
      follow();
      Object.assign(changes, { warp: here().warp, step: here().step });
    }
    go(changes);
  }

  window.dash_clientside.smemviz_playback = {
    // A site has two rows, its name and its cells; the same cell can be clicked again once the click is forgotten.
    pick_cell(click) {
      if (!click) return unchanged();
      const { x, y } = click.points[0];
      if (y % 2 === 1) goToSite((y - 1) / 2, x);
      return null;
    },

    // The server has sent a block, or was asked for a request of it.
    show(played, present) {
      if (!played || !present) return unchanged();
      if (!launch || played !== launch.sent) {
        if (timer) play(false);
        let address = 0;
        const base = played.block.base.map((step) => (address += step));
        launch = { ...played, sent: played, block: { ...played.block, base } };
        window.smemviz.paint(launch.banks);
      }
      // Which request of a site it is stands in the URL only.
      place = inUrl().site === null ? present.position : placeOf(inUrl());
      launch.globalSite = String(present.site);
      draw();
      follow();
      return unchanged(); // but without something to put out Dash would not call it when the page has come
    },

    mark() {
      mark();
      window.setTimeout(frameWarp, 50);
    },
  };

  // Back and forward between requests that were stepped to, and links to others, of which the server knows nothing.
  for (const moved of ["popstate", "placed"]) {
    window.addEventListener(moved, () => {
      if (!launch || !at(ids.TILE) || inUrl().site === null) return;
      place = placeOf(inUrl());
      draw();
      follow();
    });
  }

  // Global memory is drawn while it is shown.
  document.addEventListener("toggle", (event) => {
    if (event.target.id !== ids.GLOBAL_MEMORY) return;
    window.dash_clientside.set_props(ids.GLOBAL_OPEN, { data: event.target.open });
    if (event.target.open && launch && launch.byHand) {
      window.dash_clientside.set_props(ids.STEPPED_GLOBALLY, { data: named() });
    }
  }, true);
  // Buttons that Dash knows nothing of: it would take longer than the picture.
  document.addEventListener("click", (event) => {
    if (!launch || !at(ids.TILE) || !event.target.closest) return;
    launch.byHand = Boolean(event.target.closest(`#${ids.GLOBAL_MEMORY} > summary`));
    const button = event.target.closest(`button.badge[data-site], .playback [data-go], #${ids.PLAY}`);
    if (!button) return;
    if (button.dataset.site) goToSite(Number(button.dataset.site));
    else if (button.id === ids.PLAY) play(!timer && last() >= 0);
    else {
      play(false);
      stepTo({ first: 0, previous: place - 1, next: place + 1, last: last() }[button.dataset.go]);
    }
  });

  let resized = 0;
  new ResizeObserver(() => {
    window.clearTimeout(resized);
    resized = window.setTimeout(() => at(ids.TILE) && !same(drawnIn, rooms()) && draw(), 100);
  }).observe(document.documentElement);

  // Left and right step through the requests, Home and End go to the ends, Space plays; up and down, in the source, go
  // through the sites.
  document.addEventListener("keydown", (event) => {
    const taken = "input, textarea, select, [contenteditable], [role=slider], [role=option], [role=radio], [role=tab], [role=separator]";
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(taken)) return;
    if (!at(ids.TILE) || !launch) return;
    const scrolls = (one) => one.matches(".scroller") && one.scrollWidth > one.clientWidth;
    const steps = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last() };
    if (event.key in steps) {
      if (scrolls(event.target)) return; // there the keys scroll
      event.preventDefault();
      if (event.key.length < 5) play(false);
      stepTo(steps[event.key]);
    } else if (event.key === " " && !event.target.closest("button, a, summary")) {
      event.preventDefault();
      play(!timer);
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && event.target.closest(`#${ids.SOURCE_PANEL}`)) {
      const sites = [...document.querySelectorAll(`#${ids.SOURCE} button.badge`)];
      const chosen = sites.findIndex((site) => site.getAttribute("aria-pressed") === "true");
      const from = sites.includes(event.target) ? sites.indexOf(event.target) : chosen;
      const next = sites[Math.min(Math.max(from + (event.key === "ArrowUp" ? -1 : 1), 0), sites.length - 1)];
      if (!next) return;
      event.preventDefault();
      next.focus();
      goToSite(Number(next.dataset.site));
    }
  });
})();
