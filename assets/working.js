// While a page waits for what was asked for, the server is asked how far the run for it is.
(function () {
  "use strict";

  const { ids, unchanged } = window.smemviz;

  const MOMENT = 800; // ms; who gets an answer sooner is not told to wait
  let soon = 0;

  // What an answer is awaited for, which Dash marks; what asks here is marked too.
  const awaited = () => [...document.querySelectorAll('[data-dash-is-loading="true"]')];

  window.dash_clientside.smemviz_working = {
    watch() {
      window.clearTimeout(soon);
      soon = window.setTimeout(() => {
        if (awaited().length) window.dash_clientside.set_props(ids.WORKING_POLL, { disabled: false });
      }, MOMENT);
    },

    ask(asked) {
      const waiting = awaited();
      if (waiting.some((one) => !one.closest(`#${ids.WORKING}`))) return [asked, false, unchanged()];
      return waiting.length ? Array(3).fill(unchanged()) : [unchanged(), true, true];
    },
  };
})();
