// What pictures are made of: cells and texts of SVG, and lanes written as ranges.
window.report = (function () {
  "use strict";

  const CELL = 22; // pixels
  const ROW = 20;
  const LEFT = 44;
  const FOOT = 34;
  const MOST = 64; // rows and columns that are drawn

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
    `<text x="${x}" y="${y}" class="${kind}" font-size="${size}">${escaped(said)}</text>`;

  // A text as large as its cell lets it be; none where it could not be read.
  function fitted(x, y, said, width, kind = "") {
    const size = Math.min(11, width / (0.62 * Math.max(String(said).length, 1)));
    return size < 6 ? "" : text(x, y, said, kind, size);
  }

  const box = (x, y, width, height, look) =>
    `<rect x="${x}" y="${y}" width="${width - 1}" height="${height - 1}" ${look}/>`;

  // What rows count, along the left edge.
  const upright = (height, said) =>
    `<text class="axis" font-size="11" transform="translate(10 ${height / 2}) rotate(-90)">${escaped(said)}</text>`;

  const svg = (width, height, parts) =>
    `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${parts.join("")}</svg>`;

  return { CELL, ROW, LEFT, FOOT, MOST, escaped, ranges, badge, text, fitted, box, upright, svg };
})();
