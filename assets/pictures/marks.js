// What pictures are made of: cells and texts of SVG, and lanes written as ranges. A picture is drawn into a room, so many
// pixels wide and high; without one its cells have their usual size.
window.pictures = (function () {
  "use strict";

  const CELL = 22; // pixels
  const ROW = 20;
  const LEFT = 44;
  const FOOT = 34;
  const MOST = 64; // rows and columns that are drawn
  const WIDEST = 44; // a cell in a room
  const HIGHEST = 36;
  const LETTER = 0.62; // of its size is a letter wide

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // Lanes as ranges: 0-7, 12, 16-31.
  function ranges(lanes) {
    const found = [];
    for (const lane of [...new Set(lanes)].sort((a, b) => a - b)) {
      const last = found[found.length - 1];
      if (last && lane === last[1] + 1) last[1] = lane;
      else found.push([lane, lane]);
    }
    return found.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(", ");
  }

  function briefly(lanes) {
    const text = ranges(lanes);
    return text.length <= 5 ? text : `${Math.min(...lanes)}…${Math.max(...lanes)}`;
  }

  // Lanes as a mark of their own: every other number in a cell is a value or a word.
  const badge = (lanes) => `L${briefly(lanes)}`;

  // Tenths of a pixel; `toFixed` is slow.
  const px = (n) => Math.round(n * 10) / 10;

  const text = (x, y, said, kind = "", size = 11) =>
    `<text x="${px(x)}" y="${px(y)}" class="${kind}" font-size="${px(size)}">${escaped(said)}</text>`;

  // The size of a cell, so that so many fill the room that there is beside what stands left of them and below.
  function sized(room, columns, rows, left = LEFT, widest = WIDEST) {
    if (!room) return { width: (CELL * widest) / WIDEST, height: ROW };
    const fit = (pixels, count, most) => Math.min(Math.max(pixels / count, 3), most);
    return { width: fit(room.width - left - 4, columns, widest), height: fit(room.height - FOOT, rows, HIGHEST) };
  }

  // The type at which so many letters fit a cell, 0 where they do not: smemviz/views/grid.py has the rule.
  const RULE = JSON.parse(document.getElementById("label-rule").textContent);
  function labelSize(letters, width, height) {
    const size = Math.min((width - RULE.edges) / (RULE.letter * Math.max(letters, 1)), height - RULE.lines, RULE.most);
    return size >= RULE.least ? size : 0;
  }

  // Name the lanes of cells [{ x, y, said, kind }] in these, where single lanes fit; several of one cell where they do too.
  function named(cells, width, height) {
    const single = cells.filter(({ said }) => said.length <= RULE.single);
    const letters = Math.max(0, ...(single.length ? single : cells).map(({ said }) => said.length));
    const size = labelSize(letters, width, height);
    if (!size) return "";
    const fits = ({ said }) => said.length <= letters || labelSize(said.length, width, height) >= size;
    return cells.filter(fits).map(({ x, y, said, kind }) =>
      text(x + (width - 1) / 2, y + height / 2 + size * 0.36, said, kind, size)).join("");
  }

  // Every how many rows can be named, so that no name runs into the next.
  const every = (height) => Math.max(Math.ceil(12 / height), 1);

  const box = (x, y, width, height, look) =>
    `<rect x="${px(x)}" y="${px(y)}" width="${px(Math.max(width - 1, 1))}" height="${px(Math.max(height - 1, 1))}" ${look}/>`;

  // Cells of one look in one path: [x, y].
  const fill = (places, width, height, look) => {
    const [w, h] = [width, height].map((size) => px(Math.max(size - 1, 1)));
    return `<path ${look} d="${places.map(([x, y]) => `M${px(x)} ${px(y)}h${w}v${h}h-${w}z`).join("")}"/>`;
  };

  // Cells by their looks: { look: [[x, y], ...] }.
  const fills = (places, width, height) =>
    [...places].map(([look, those]) => fill(those, width, height, look)).join("");

  function put(places, look, x, y) {
    if (!places.has(look)) places.set(look, []);
    places.get(look).push([x, y]);
  }

  // A veil over a picture: what is lit shows through it, a bank's cells as they are, a lane's rimmed.
  function veil(cells, { left, width, height, top = (row) => row * height }, isFull, isPart) {
    const spots = { full: [], part: [] };
    cells.forEach((one, row) => one.forEach((cell, column) => {
      const kind = cell && (isFull(cell, column) ? "full" : isPart(cell, column) && "part");
      if (kind) spots[kind].push(`M${px((left + column * width))} ${px(top(row))}h${px(width)}v${px(height)}h-${px(width)}z`);
    }));
    const [across, down] = [Math.max(...cells.map((one) => one.length)) * width, cells.length * height];
    const above = Math.min(top(0), top(cells.length - 1));
    const whole = `M${px(left - 1)} ${px(above - 1)}h${px(across + 2)}v${px(down + 2)}h-${px(across + 2)}z`; // frames are wider than cells
    return `<g class="veil"><path class="cloth" d="${whole}${spots.full.join("")}${spots.part.join("")}"/><path class="rim" d="${spots.full.join("")}"/></g>`;
  }

  // What rows count, along the left edge, where it has room.
  const upright = (height, said) =>
    said.length * 6 > height ? "" : `<text class="axis" font-size="11" transform="translate(10 ${height / 2}) rotate(-90)">${escaped(said)}</text>`;

  // A picture of several parts, so large.
  function framed(width, height, parts) {
    const frame = `<svg viewBox="0 0 ${px(width)} ${px(height)}" width="${px(width)}" height="${px(height)}" aria-hidden="true">`;
    return { frame, parts, svg: `${frame}${parts.map((part) => `<g>${part}</g>`).join("")}</svg>` };
  }

  // Put a picture into its place; where one of the same size is, those parts are drawn anew that are not as they were.
  function show(figure, { frame, parts, svg }) {
    const groups = [...((figure.firstElementChild || {}).children || [])];
    if (figure.frame === frame && figure.parts.length === parts.length && groups.length >= parts.length) {
      for (const more of groups.slice(parts.length)) more.remove(); // what a lane that is lit had put over it
      parts.forEach((part, i) => part !== figure.parts[i] && (groups[i].innerHTML = part));
    } else {
      figure.innerHTML = svg;
    }
    Object.assign(figure, { frame, parts });
  }

  // The picture that a mouse is over, and where in its own pixels.
  function pointed(event) {
    const svg = event.target.closest && event.target.closest(".own-figure svg");
    if (!svg) return null;
    const place = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / place.width;
    return { figure: svg.closest(".own-figure"), x: (event.clientX - place.left) * scale, y: (event.clientY - place.top) * scale };
  }

  // Numbers along an axis: each that there is room for, in steps that people count in.
  const step = (pixels) => [1, 2, 4, 8, 16, 32].find((n) => n * pixels >= 22) || 64;

  return { WIDEST, CELL, ROW, LEFT, FOOT, MOST, LETTER, escaped, ranges, badge, px, text, sized, named, every, box, fill, fills, put, veil, upright, framed, show, pointed, step };
})();
