// A shared array: its elements coloured by bank, what they hold, and the lanes of the request in their cells.
(function () {
  "use strict";

  const { CELL, ROW, LEFT, FOOT, MOST, escaped, badge, ranges, text, fitted, box, upright, svg } = window.report;

  // The lanes in each cell of the array, and whether one of them is in conflict.
  function lanesIn(request, array) {
    const found = new Map();
    if (!request.site.shared) return found;
    const conflicting = new Set(request.shape.words.filter((word) => word[3]).map((word) => word[0]));
    for (const [lane, first] of request.lanes()) {
      for (let byte = first - (first % array.size); byte < first + request.site.bytes; byte += array.size) {
        const cell = found.get(byte) || { lanes: [], hot: false };
        cell.lanes.push(lane);
        cell.hot = cell.hot || conflicting.has(lane);
        found.set(byte, cell);
      }
    }
    return found;
  }

  // What is drawn of a large array: a window around the request.
  function windowOf(count, places) {
    if (count <= MOST) return [0, count];
    const middle = places.length ? Math.floor((Math.min(...places) + Math.max(...places) + 1 - MOST) / 2) : 0;
    const first = Math.max(0, Math.min(middle, places.length ? Math.min(...places) : 0, count - MOST));
    return [first, first + MOST];
  }

  // What a cell is and holds, and who is there, a line each.
  function told({ bank, touched, kept, here }) {
    const lines = [gettext("bank {bank}", { bank })];
    if (kept) {
      const from = { value: kept.value, thread: kept.warp * 32 + kept.lane, warp: kept.warp, lane: kept.lane };
      lines.push(gettext("holds {value} from thread {thread} (warp {warp}, lane {lane})", from));
    } else {
      lines.push(touched ? gettext("nothing stored yet") : gettext("padding: no request ever touches it"));
    }
    const lanes = here && ranges(here.lanes);
    if (here && here.hot) lines.push(gettext("this request: lane {lanes}, in conflict", { lanes }));
    else if (here) lines.push(gettext("this request: lane {lanes}", { lanes }));
    return lines;
  }

  function drawn(cell, x, y, width) {
    const { here, kept } = cell;
    const fill = !cell.touched ? "unused" : kept ? `bank${cell.bank}` : `faint${cell.bank}`;
    const parts = [`<g><title>${escaped([cell.name, ...told(cell)].join("\n"))}</title>`];
    parts.push(box(x, y, width, ROW, `fill="var(--${fill})"`));
    if (here) {
      parts.push(box(x, y, width, ROW, `class="${here.hot ? "bad" : "lane"}"`));
      if (here.hot) parts.push(`<path class="corner" d="M${x} ${y}h7l-7 7z"/>`);
      parts.push(fitted(x + width / 2 - 0.5, y + 14, badge(here.lanes), width - 3, here.hot ? "hot" : ""));
    } else if (kept) {
      parts.push(fitted(x + width / 2 - 0.5, y + 14, kept.value, width - 2, "value"));
    }
    return [...parts, "</g>"].join("");
  }

  function noted(request, isPart, rows, columns) {
    const note = gettext(
      "Colour is the bank, from 0 (blue) to {last} (yellow); framed are the lanes of this request, from L0 to L31, those in conflict bold with a marked corner; faint cells hold nothing yet, grey ones are never touched.",
      { last: request.banks - 1 },
    );
    return isPart ? `${note} ${gettext("Shown is a part of {rows} x {columns} elements.", { rows, columns })}` : note;
  }

  window.report.tile = function (request, array) {
    const kept = request.contents();
    const lanes = lanesIn(request, array);
    const { columns } = array;
    const rows = array.address.length / columns;
    const where = array.address.map((address, i) => (lanes.has(address) ? i : -1)).filter((i) => i >= 0);
    const [top, bottom] = windowOf(rows, where.map((i) => Math.floor(i / columns)));
    const [left, right] = windowOf(columns, where.map((i) => i % columns));
    const counted = (first, end) => Array.from({ length: end - first }, (_, i) => first + i);
    const cells = counted(top, bottom).map((row) =>
      counted(left, right).map((column) => {
        const i = row * columns + column;
        const address = array.address[i];
        if (address < 0) return null; // beyond the end of a folded vector
        const [name, touched, bank] = [array.names[i], array.touched[i], request.bank(address)];
        return { name, touched, bank, kept: kept.get(address), here: lanes.get(address) };
      }),
    );
    const width = right - left > 33 ? 16 : CELL;
    const [across, down] = [LEFT + (right - left) * width, (bottom - top) * ROW];
    const parts = cells.flatMap((line, row) => [
      row % 4 === 0 ? text(LEFT - 14, row * ROW + 14, top + row, "axis") : "",
      ...line.map((cell, column) => (cell ? drawn(cell, LEFT + column * width, row * ROW, width) : "")),
    ]);
    for (let column = left; column < right; column += 4) {
      parts.push(text(LEFT + (column - left + 0.5) * width, down + 13, column, "axis"));
    }
    parts.push(text((LEFT + across) / 2, down + FOOT - 4, array.titles[0], "axis"), upright(down, array.titles[1]));
    const named = { array: array.name, cost: request.shape.said };
    return {
      svg: svg(across + 2, down + FOOT, parts),
      says: where.length
        ? gettext("{array} with the lanes of this request: {cost}", named)
        : gettext("{array}, where this request has no lane", named),
      note: noted(request, bottom - top < rows || right - left < columns, rows, columns),
      tables: () => [
        {
          down: array.titles[1],
          across: array.titles[0],
          columns: counted(left, right),
          heads: counted(top, bottom),
          rows: cells.map((line) => line.map((cell) => (cell ? told(cell).join("; ") : ""))),
        },
      ],
    };
  };
})();
