// The stage of the kernel page: the block in the layouts that were found for its arrays, and what moves on it. Another
// layout slides the tile's cells and lets the bins fall; playing drops each wavefront's lanes into their bins.
(function () {
  "use strict";

  const { ids } = window.smemviz;
  const SLIDE = 900; // ms
  const FALL = 0.55; // of the time of a request is the fall of one wavefront
  const at = (id) => document.getElementById(id);
  const isStill = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const eased = (part) => (part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) ** 2);
  const between = (a, b, part) => a + (b - a) * part;

  let layouts = []; // of the block, as written first
  let chosen = "written";
  let made = { of: null, name: "" }; // the block in the layout that is chosen, as playback.js asks for it

  const named = (name) => layouts.find((one) => one.name === name) || layouts[0];

  function inLayout(launch) {
    const layout = named(chosen);
    if (!launch || !layout || !layout.arrays) return launch;
    if (made.of !== launch || made.layout !== layout) {
      let address = 0;
      const base = layout.base.map((step) => (address += step));
      const { arrays, shapes, shape } = layout;
      made = { of: launch, layout, launch: { ...launch, arrays, shapes, block: { ...launch.block, shape, base } } };
    }
    return made.launch;
  }

  // The room that pictures move in: one canvas over both.
  let frame = 0;
  let end = () => {}; // of what is in motion
  function move(ms, paint, ended = () => {}) {
    const around = at(ids.TILE).closest(".pictures");
    const canvas = around.querySelector(".motion") || around.appendChild(Object.assign(document.createElement("canvas"), { className: "motion" }));
    const { width, height, left, top } = around.getBoundingClientRect();
    const scale = window.devicePixelRatio;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    canvas.setAttribute("aria-hidden", "true");
    const pen = canvas.getContext("2d");
    const start = performance.now();
    stop();
    canvas.hidden = false;
    end = ended;
    const next = () => {
      const part = Math.min((performance.now() - start) / ms, 1);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, width, height);
      if (part === 1 || !around.isConnected) return stop();
      paint(pen, part, { left, top });
      frame = window.requestAnimationFrame(next);
    };
    next();
  }

  function stop() {
    window.cancelAnimationFrame(frame);
    for (const canvas of document.querySelectorAll(".motion")) canvas.hidden = true;
    end();
    end = () => {};
  }

  // A picture with where it stands and the colours it has.
  function scene(figure, { left, top }) {
    const svg = figure.querySelector("svg");
    if (!svg || !figure.drawn) return null;
    const place = svg.getBoundingClientRect();
    const style = window.getComputedStyle(figure);
    return { ...figure.drawn, x: place.left - left, y: place.top - top, colour: (name) => style.getPropertyValue(`--${name}`) };
  }

  function cell(pen, { x, y }, width, height, colour) {
    pen.fillStyle = colour;
    pen.fillRect(x, y, Math.max(width - 1, 1), Math.max(height - 1, 1));
  }

  function outline(pen, { x, y }, width, height, colour) {
    Object.assign(pen, { strokeStyle: colour, lineWidth: 1.75 });
    pen.strokeRect(x, y, Math.max(width - 1, 1), Math.max(height - 1, 1));
  }

  // The bins as they are before anything has fallen.
  function emptied(pen, { x, y, left, width, columns, down, colour }) {
    pen.fillStyle = colour("paper");
    pen.fillRect(x + left - 1, y - 1, columns * width + 1, down + 1);
    for (let bank = 0; bank < columns; bank++) cell(pen, { x: x + left + bank * width, y }, width, down, colour("idle"));
  }

  const look = ({ touched, kept, bank }) => (!touched ? "unused" : kept ? `bank${bank}` : `faint${bank}`);

  // Where a cell is on its way: along the rows of banks where both pictures have as many columns, else straight.
  function onWay(from, to, before, after, part) {
    const [width, height] = [between(before.width, after.width, part), between(before.height, after.height, part)];
    if (before.columns !== after.columns) return [{ x: between(from.x, to.x, part), y: between(from.y, to.y, part), width, height }];
    const along = between(from.row * before.columns + from.column, to.row * after.columns + to.column, part);
    const [row, column] = [Math.floor(along / after.columns), along % after.columns];
    const here = { x: after.left + column * width, y: row * height, width, height };
    const beyond = column + 1 - after.columns; // in the next row
    if (beyond <= 0) return [here];
    return [{ ...here, width: width * (1 - beyond) }, { ...here, x: after.left, y: here.y + height, width: width * beyond }];
  }

  function slid(before, after) {
    const from = new Map(before.cells.filter(({ name }) => name).map((one) => [one.name, one]));
    const pairs = after.cells.filter(({ name }) => from.has(name)).map((to) => [from.get(to.name), to]);
    return (pen, part, { x, y, colour }) => {
      pen.fillStyle = colour("paper");
      pen.fillRect(x + after.left - 1, y - 1, after.columns * after.width + 2, Math.max(before.down, after.down) + 2);
      const put = (from, to) => onWay(from, to, before, after, part).forEach((one) => {
        cell(pen, { x: x + one.x, y: y + one.y }, one.width, one.height, colour(look(part < 0.5 ? from : to)));
        if (!to.here) return;
        outline(pen, { x: x + one.x, y: y + one.y }, one.width, one.height, colour((part < 0.5 ? from : to).here?.hot ? "conflict" : "frame"));
      });
      for (const [from, to] of pairs) if (!to.here) put(from, to);
      for (const [from, to] of pairs) if (to.here) put(from, to);
    };
  }

  function restacked(before, after) {
    const key = ({ lanes }) => lanes.join();
    const from = new Map(before.cells.map((one) => [key(one), one]));
    const pairs = after.cells.map((to) => [from.get(key(to)) || to, to]);
    return (pen, part, picture) => {
      emptied(pen, { ...picture, ...after });
      for (const [one, to] of pairs) {
        const place = { x: picture.x + between(one.x, to.x, part), y: picture.y + between(one.y, to.y, part) };
        const [width, height] = [between(one.width, to.width, part), between(one.height, to.height, part)];
        cell(pen, place, width, height, picture.colour(`bank${part < 0.5 ? one.bank : to.bank}`));
      }
    };
  }

  // Show another layout: what was drawn slides to where it lies then.
  function choose(name) {
    const [was, now] = [named(chosen), named(name)];
    if (!now || was === now) return;
    const figures = [at(ids.TILE), at(ids.REQUEST)];
    const before = figures.map((figure) => figure.drawn);
    chosen = now.name;
    window.smemviz.goLater({ layout: chosen === "written" ? null : chosen });
    say(was, now);
    window.smemviz.drawAgain();
    const after = figures.map((figure) => figure.drawn);
    if (isStill() || [...before, ...after].includes(undefined)) return stop();
    const [tile, bins] = [slid(before[0], after[0]), restacked(before[1], after[1])];
    move(SLIDE, (pen, part, origin) => {
      const [above, below] = figures.map((figure) => scene(figure, origin));
      if (above) tile(pen, eased(part), above);
      if (below && below.cells) bins(pen, eased(part), below);
      count(was, now, eased(part));
    }, () => count(was, now, 1));
  }

  // Let the lanes of the present request fall from the tile into their bins, wavefront by wavefront, in so many ms.
  function drop(ms) {
    if (isStill()) return;
    const request = window.smemviz.presentRequest();
    const last = request.shape.wavefronts - 1;
    if (!request.site.shared || request.shape.reason) return stop();
    const width = request.launch.width;
    const above = ({ x, y }) => ({ x, y, width: 0, height: 0 });
    move(ms * 0.9, (pen, part, origin) => {
      const [tile, bins] = [ids.TILE, ids.REQUEST].map((id) => scene(at(id), origin));
      if (!tile || !bins) return;
      emptied(pen, bins);
      for (const one of bins.cells) {
        const start = last ? (one.row / last) * (1 - FALL) : 0;
        const way = Math.min(Math.max((part - start) / FALL, 0), 1);
        for (const word of one.words) {
          const byte = request.launch.origin + word * width;
          const from = tile.cells.find(({ address, here }) => here && address < byte + width && address + tile.size > byte) || above(one);
          const fall = way * way;
          const place = { x: between(tile.x + from.x, bins.x + one.x, way), y: between(tile.y + from.y, bins.y + one.y, fall) };
          if (!way) continue;
          const size = [between(tile.width, one.width, way), between(tile.height, one.height, way)];
          cell(pen, place, ...size, bins.colour(`bank${one.bank}`));
          if (way < 1) outline(pen, place, ...size, bins.colour(one.hot ? "conflict" : "frame"));
        }
      }
    });
  }

  const written = (n) => n.toLocaleString("en");

  // The headline counts down with the bins.
  function count(was, now, part) {
    const [headline, staged] = [at(ids.HEADLINE), at(ids.STAGED_HEADLINE)];
    headline.hidden = now.name !== "written";
    staged.hidden = !headline.hidden;
    const n = written(Math.round(between(was.wavefronts, now.wavefronts, part)));
    staged.textContent = staged.hidden ? "" : gettext("{layout}: wavefronts down from {before} to {n}", { layout: now.title, before: written(layouts[0].wavefronts), n });
  }

  // A button that copies what to change in the file, as frame.js does; "" where that cannot be written.
  function copying(fix) {
    if (!fix) return "";
    const button = Object.assign(document.createElement("button"), { type: "button", className: "text-button" });
    button.textContent = gettext("Copy the fix");
    button.dataset.code = fix;
    return button;
  }

  function say(was, now) {
    count(was, now, 1);
    document.body.dataset.layout = now.name; // what is counted as written says so
    const [asWritten, found] = layouts;
    const before = written(asWritten.excess);
    const says = document.createElement("span");
    says.textContent = now.says && gettext("{n} in excess, {before} as written. {change}", { change: now.says, n: written(now.excess), before });
    says.title = says.textContent;
    at(ids.LAYOUT_SAYS).replaceChildren(...[says, copying(now.fix || (now === asWritten && found && found.fix))].filter(Boolean));
    for (const one of at(ids.LAYOUTS).querySelectorAll("input")) one.checked = one.value === now.name;
  }

  function offered({ name, title, wavefronts }) {
    const [label, input, number] = ["label", "input", "b"].map((tag) => document.createElement(tag));
    Object.assign(input, { name: "layout", type: "radio", value: name });
    input.addEventListener("change", () => choose(name));
    number.textContent = written(wavefronts);
    label.title = gettext("wavefronts of the launch");
    label.append(input, title, " ", number);
    return label;
  }

  // What moves can be saved as it does, where the server has what draws that, and the browser what films it.
  function offerVideos() {
    const forms = at(ids.TILE).closest(".panel").querySelector(".save-forms");
    for (const old of forms.querySelectorAll(".video")) old.remove();
    if (!layouts.length || !at(ids.LAYOUTS).dataset.gif || window.location.pathname === window.smemviz.names.editor) return;
    for (const form of ["gif", window.smemviz.film].filter(Boolean)) {
      const button = forms.appendChild(forms.lastElementChild.cloneNode());
      button.classList.add("video");
      button.dataset.save = form;
      button.textContent = gettext("Video ({form})", { form: { gif: "GIF", mp4: "MP4", webm: "WebM" }[form] });
    }
  }

  window.dash_clientside.smemviz_stage = {
    // The server has found layouts for the launch, or none.
    offer(found) {
      const was = chosen;
      layouts = found || [];
      chosen = (named(new URLSearchParams(window.location.search).get("layout")) || { name: "written" }).name;
      stop();
      at(ids.LAYOUTS).replaceChildren(...layouts.map(offered));
      offerVideos();
      if (layouts.length) say(layouts[0], named(chosen));
      else [document.body.dataset.layout, at(ids.HEADLINE).hidden, at(ids.STAGED_HEADLINE).hidden, at(ids.LAYOUT_SAYS).textContent] = ["written", false, true, ""];
      if (was !== "written" || chosen !== "written") window.smemviz.drawAgain();
      return window.smemviz.unchanged();
    },
  };
  Object.assign(window.smemviz, { inLayout, drop, still: stop });
})();
