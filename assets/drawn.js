// A picture of one request, drawn of what the server says of it: the same pictures that play a kernel's requests. And what
// all of those share, their colours.
(function () {
  "use strict";

  const { createElement, useLayoutEffect, useRef } = window.React;
  const { names } = window.smemviz;
  const OF_WINDOW = 0.55; // of its height a picture takes at most, so that what stands beside it is seen too
  const LOWEST = 260; // pixels, however low the window is

  // Give the colours of so many banks, light and dark, to what a selector names.
  function paint(banks, selector = ":root") {
    const id = `picture-colours-${selector}`;
    const sheet = document.getElementById(id) || document.head.appendChild(Object.assign(document.createElement("style"), { id }));
    if (sheet.dataset.banks === String(banks)) return;
    sheet.dataset.banks = banks;
    const mixed = (ramp, i) => {
      const spot = (i * (ramp.length - 1)) / Math.max(banks - 1, 1);
      const low = Math.min(Math.floor(spot), ramp.length - 2);
      const channel = (colour, c) => parseInt(colour.slice(1 + 2 * c, 3 + 2 * c), 16);
      const mix = (c) => Math.round(channel(ramp[low], c) + (channel(ramp[low + 1], c) - channel(ramp[low], c)) * (spot - low));
      return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
    };
    const rule = ({ named, ramps }) => [
      ...Object.entries(named).map(([name, colour]) => `--${name}:${colour}`),
      ...Object.entries(ramps).flatMap(([name, ramp]) => Array.from({ length: banks }, (_, i) => `--${name}${i}:${mixed(ramp, i)}`)),
    ].join(";");
    const dark = '[data-mantine-color-scheme="dark"]';
    sheet.textContent = `${selector}{${rule(names.themes.light)}}${selector === ":root" ? dark : `${dark} ${selector}`}{${rule(names.themes.dark)}}`;
  }

  // Put a picture into its place; its name and its table come from tables.js.
  function put(figure, picture) {
    if (picture.svg) window.pictures.show(figure, picture);
    else figure.textContent = picture.note;
    Object.assign(figure, { says: picture.says, tables: picture.tables, at: picture.at, pick: picture.pick, lit: picture.lit, drawn: picture.drawn });
    figure.dispatchEvent(new Event("figure-drawn", { bubbles: true }));
  }

  function pictureOf(kind, data, room) {
    const { banks, width, origin, site, shape, base, array } = data;
    const launch = { width, origin, sites: [site], shapes: [shape], arrays: [array], globals: [] };
    const block = { site: [0], shape: [0], base: [base], warp: [0], step: [0], values: {} };
    const request = new window.pictures.Request(banks, launch, block, 0);
    return kind === "tile" ? window.pictures.tile(request, array, room) : window.pictures.banks(request, room);
  }

  function Drawn({ id, kind, height, data }) {
    const element = useRef(null);
    const isLoading = window.dash_component_api.useDashContext().useLoading();
    const scope = data ? `of-${data.banks}-banks` : "";
    useLayoutEffect(() => {
      if (!data) return undefined;
      const [list, figure, note] = element.current.children;
      paint(data.banks, `.${scope}`);
      let drawnIn = "";
      const draw = () => {
        const room = { width: figure.clientWidth, height: Math.min(height, Math.max(LOWEST, window.innerHeight * OF_WINDOW)) };
        if (!room.width || drawnIn === JSON.stringify(room)) return; // hidden, or as it was
        drawnIn = JSON.stringify(room);
        const picture = pictureOf(kind, data, room);
        put(figure, Object.assign(picture, { says: data.says }));
        window.pictures.key(list, picture.legend);
        note.textContent = picture.part;
      };
      draw();
      const resized = new ResizeObserver(() => window.requestAnimationFrame(draw));
      resized.observe(figure);
      return () => resized.disconnect();
    }, [data, kind, height]);
    const named = typeof id === "object" ? JSON.stringify(id) : id;
    const parts = [
      createElement("ul", { key: "key", className: "key", "aria-hidden": true }),
      createElement("div", { key: "figure", className: "own-figure" }),
      createElement("p", { key: "note", className: "note" }),
    ];
    return createElement("div", { id: named, ref: element, className: `drawn ${scope}`, "data-dash-is-loading": isLoading || undefined }, parts);
  }

  Object.assign(window.smemviz, { paint, put });
  window.smemviz_components = { ...window.smemviz_components, Drawn };
})();
