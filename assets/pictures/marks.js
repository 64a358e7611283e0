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
  const LEAST = 10; // pixels of type that can be read
  const EDGES = 4; // pixels of a cell that its frame takes, left and right
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

  const text = (x, y, said, kind = "", size = 11) =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${kind}" font-size="${size.toFixed(1)}">${escaped(said)}</text>`;

  // The size of a cell, so that so many fill the room that there is beside what stands left of them and below.
  function sized(room, columns, rows, left = LEFT) {
    if (!room) return { width: CELL, height: ROW };
    const fit = (pixels, count, most) => Math.min(Math.max(pixels / count, 3), most);
    return { width: fit(room.width - left - 4, columns, WIDEST), height: fit(room.height - FOOT, rows, HIGHEST) };
  }

  // Write texts into a row of cells, as large as a cell lets them be. What does not fit stands beside its cell where that is
  // free, else in the middle of it, as many as there is room for, in the row that begins at `free`. Cells: { x, said, kind };
  // `end` is where the row ends, `most` the letters of the longest text of the picture; what does not fit hides what is
  // below it, in whole steps of `covers` pixels, so that no half of a number stays beside it; 0 for nothing.
  function line(cells, y, width, height, end = Infinity, most = 0, free = y, covers = 0) {
    const tall = Math.max(height - 2, LEAST);
    let from = -Infinity;
    return cells.map(({ x, said, kind }, i) => {
      const letters = Math.max(String(said).length, 1);
      const fits = LETTER * Math.max(letters, most) * LEAST + EDGES <= width;
      const next = Math.min(i + 1 < cells.length ? cells[i + 1].x : end, end);
      const beside = !fits && x + width + 3 + LETTER * letters * LEAST <= next;
      const room = fits ? width - EDGES : beside ? next - x - width - 3 : 0;
      const size = Math.min(Math.max(room / (LETTER * Math.max(letters, most)), LEAST), tall, fits ? 13 : 11);
      const long = LETTER * letters * size;
      const middle = beside ? x + width + 3 + long / 2 : x + width / 2;
      if (middle - long / 2 < from) return "";
      from = middle + long / 2 + (fits ? 0 : 3);
      const centre = (fits || beside ? y : free) + height / 2;
      const left = x + Math.floor((middle - long / 2 - 1 - x) / covers) * covers;
      const until = x + Math.ceil((middle + long / 2 + 1 - x) / covers) * covers;
      const plate = covers && !fits ? box(left, centre - size * 0.6, until - left, size * 1.2, 'class="plate"') : "";
      return plate + text(middle - 0.5, centre + size * 0.36, said, kind, size);
    }).join("");
  }

  // Every how many rows can be written in, so that what stands in one does not run into the next.
  const every = (height) => Math.max(Math.ceil((LEAST + 2) / height), 1);

  const box = (x, y, width, height, look) =>
    `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(width - 1, 1).toFixed(1)}" height="${Math.max(height - 1, 1).toFixed(1)}" ${look}/>`;

  // Cells of one look in one path: [x, y].
  const fill = (places, width, height, look) => {
    const [w, h] = [Math.max(width - 1, 1).toFixed(1), Math.max(height - 1, 1).toFixed(1)];
    return `<path ${look} d="${places.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h${w}v${h}h-${w}z`).join("")}"/>`;
  };

  // Cells by their looks: { look: [[x, y], ...] }.
  const fills = (places, width, height) =>
    [...places].map(([look, those]) => fill(those, width, height, look)).join("");

  function put(places, look, x, y) {
    if (!places.has(look)) places.set(look, []);
    places.get(look).push([x, y]);
  }

  // What rows count, along the left edge, where it has room.
  const upright = (height, said) =>
    said.length * 6 > height ? "" : `<text class="axis" font-size="11" transform="translate(10 ${height / 2}) rotate(-90)">${escaped(said)}</text>`;

  const svg = (width, height, parts) =>
    `<svg viewBox="0 0 ${width.toFixed(1)} ${height.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" aria-hidden="true">${parts.join("")}</svg>`;

  // Numbers along an axis: each that there is room for, in steps that people count in.
  const step = (pixels) => [1, 2, 4, 8, 16, 32].find((n) => n * pixels >= 22) || 64;

  return { CELL, ROW, LEFT, FOOT, MOST, LEAST, LETTER, escaped, ranges, badge, text, sized, line, every, box, fills, put, upright, svg, step };
})();
