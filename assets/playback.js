// Steps through the requests of a kernel's page. Only playback has a state that is not in the URL: whether it is running.
(function () {
  "use strict";

  const { query, unchanged, changed, go, clicked } = window.smemviz;
  let order = { site: [], warp: [], step: [] }; // of the block shown: the requests as they are played
  let shownPosition = 0;
  let timer = 0;
  let stepped = 0; // when the last step was asked for

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

  function goToPosition(wanted) {
    const i = Math.min(Math.max(wanted, 0), order.warp.length - 1);
    stepped = performance.now();
    if (i >= 0) go({ site: order.site[i], warp: order.warp[i], step: order.step[i], at: null }, true);
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

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.smemviz_playback = {
    pick_site() {
      const id = clicked();
      if (id) go({ site: id.index, step: null, at: null });
    },

    // A site has two rows, its name and its cells; the same cell can be clicked again once the click is forgotten.
    pick_cell(click) {
      if (!click) return unchanged();
      const { x, y } = click.points[0];
      if (y % 2 === 1) go({ site: (y - 1) / 2, warp: x, step: null, at: null });
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
      if (present) window.smemviz.place = present.at;
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
      go({ site: JSON.parse(next.id).index, step: null, at: null });
    }
  });
})();
