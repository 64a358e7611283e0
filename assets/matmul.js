// The browser's part of the matrix product page: its controls write the URL, and its steps play.
(function () {
  "use strict";

  const { ids, unchanged, go, triggered, clicked } = window.smemviz;
  let timer = 0;
  let stepped = 0; // when the last step was asked for
  let steps = { count: 1, now: 1 };
  const PACE = 500; // ms between steps that play

  function goTo(wanted) {
    stepped = performance.now();
    const next = Math.min(Math.max(wanted, 1), steps.count);
    go({ step: next === 1 ? null : next }, true);
  }

  function stop() {
    window.dash_clientside.set_props(ids.STEP_PLAYING, { data: false });
  }

  window.dash_clientside.smemviz_matmul = {
    // Until the counts for a size and tile have come, those of the last do not count as shown.
    await() {
      return Array(4).fill("true");
    },

    // What the server filled in comes back as a change of value, and says nothing new.
    set(values, controls, shown) {
      if (!shown) return;
      const changed = triggered().map(({ id }) => id.name);
      const changes = {};
      controls.forEach(({ name }, i) => {
        const value = String(values[i] === null || values[i] === undefined ? "" : values[i]).trim();
        if (!changed.includes(name) || !value || value === shown[name]) return;
        changes[name] = value;
        if (name === "PICTURED") changes.step = null; // of another product
      });
      if (Object.keys(changes).length) go(changes);
    },

    go(clicks, state) {
      const id = clicked();
      if (!id) return;
      stop();
      goTo({ first: 1, previous: state.now - 1, next: state.now + 1, last: state.count }[id.to]);
    },

    keep(state) {
      if (!state) return unchanged();
      steps = state;
      return state.now;
    },

    pick(value, state) {
      if (state && value !== state.now) goTo(value);
    },

    toggle(clicks, playing) {
      if (!playing && steps.now >= steps.count) goTo(1);
      return !playing;
    },

    // One step after the picture of the last has come, so that a slow machine plays slowly and skips nothing.
    play(playing, state) {
      window.clearTimeout(timer);
      if (playing && state) {
        timer = window.setTimeout(() => {
          if (!document.getElementById(ids.MATMUL_PAGE)) return;
          if (steps.now >= steps.count) stop();
          else goTo(steps.now + 1);
        }, Math.max(0, stepped + PACE - performance.now()));
      }
      return [`icon-button ${playing ? "pause" : "play"}`, playing ? gettext("Pause") : gettext("Play")];
    },
  };

  // Left and right step; space plays and pauses.
  document.addEventListener("keydown", (event) => {
    const taken = "input, textarea, select, button, summary, a, [role=slider], [role=option], .scroller";
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(taken)) return;
    if (!document.getElementById(ids.MATMUL_PAGE)) return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      goTo(steps.now + (event.key === "ArrowLeft" ? -1 : 1));
    } else if (event.key === " ") {
      event.preventDefault();
      document.getElementById(ids.STEP_PLAY).click();
    }
  });
})();
