// A shared array: its elements coloured by bank, what they hold, and the lanes of the request in their cells.
(function () {
  "use strict";

  const { WIDEST, LEFT, FOOT, MOST, LETTER, badge, ranges, text, sized, named, px, box, fills, put, veil, upright, framed, step } =
    window.pictures;
  const MOST_VALUES = 1024; // more are a grey haze
  const SMALLEST = 9; // pixels of type of what a cell holds, which it also says when one points at it

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

  // What a cell is and holds, and who is there, a line each; `words` are an array's own, of cells that hold nothing.
  function told({ address, bank, touched, kept, here }, words) {
    const lines = [words.faint ? gettext("byte {address}, bank {bank}", { address: address.toLocaleString("en"), bank }) : gettext("bank {bank}", { bank })];
    if (words.faint) {
      if (!kept) lines.push(touched ? words.faint : words.unused);
    } else if (kept) {
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

  // The last thing stored in a cell, which may be wider than an element.
  function keptIn(held, address, size, element) {
    let kept;
    for (let byte = 0; byte < size; byte += element) kept = held.get(address + byte) || kept;
    return kept;
  }

  // What the server says a cell holds: [value, thread].
  const heldIn = (held) => held && { value: held[0], warp: Math.floor(held[1] / 32), lane: held[1] % 32 };

  // The cells that are drawn, row by row, each with its place in the picture.
  function cellsOf(request, array, lanes, rows, columns, width, height) {
    const held = array.held ? null : request.contents();
    const across = array.columns;
    return rows.map((row, down) =>
      columns.map((column, along) => {
        const i = row * across + column;
        const address = array.address[i];
        if (address < 0 || address === undefined) return null; // beyond the end of a folded vector
        const [name, touched, bank] = [array.names[i], array.touched[i], request.bank(address)];
        const kept = array.held ? heldIn(array.held[i]) : keptIn(held, address, array.size, array.element);
        const place = { row: down, column: along, x: LEFT + along * width, y: down * height };
        return { name, address, touched, bank, kept, here: lanes.get(address), ...place };
      }),
    );
  }

  const lookOf = ({ touched, kept, bank }) => `fill="var(--${!touched ? "unused" : kept ? `bank${bank}` : `faint${bank}`})"`;

  // Frames, corners and names of the lanes, in their cells.
  function marked(cells, width, height) {
    const there = cells.flat().filter((cell) => cell && cell.here);
    const said = there.map(({ here, x, y }) => ({ x, y, said: badge(here.lanes), kind: here.hot ? "hot" : "here" }));
    const names = named(said, width, height);
    const corner = px(Math.min(7, width / 2, height / (names ? 3 : 2))); // clear of the name
    const frames = there.map(({ here, x, y }) =>
      box(x, y, width, height, `class="${here.hot ? "bad" : "lane"}"`) +
      (here.hot ? `<path class="corner" d="M${px(x)} ${px(y)}h${corner}l-${corner} ${corner}z"/>` : ""));
    return frames.join("") + names;
  }

  // The values, a part for each row; none where not all of them can be read.
  function values(cells, width, height) {
    const longest = Math.max(0, ...cells.flat().map((cell) => (cell && cell.kept ? String(cell.kept.value).length : 0)));
    const size = Math.min(11, (width - 2) / (LETTER * longest), height - 5);
    if (!longest || size < SMALLEST || cells.length * cells[0].length > MOST_VALUES) return cells.map(() => "");
    return cells.map((one, row) => one.map((cell, column) => {
      if (!cell || !cell.kept || cell.here) return "";
      return text(LEFT + (column + 0.5) * width - 0.5, (row + 0.5) * height + size * 0.36, cell.kept.value, "value", size);
    }).join(""));
  }

  function legend(cells, banks, words) {
    const all = cells.flat().filter(Boolean);
    return [
      [`banks${banks - 1}`, gettext("bank {first} to {last}", { first: 0, last: banks - 1 })],
      all.some(({ here }) => here && !here.hot) && ["lane", gettext("lane of this request")],
      all.some(({ here }) => here && here.hot) && ["bad", gettext("lane in conflict: bold, corner marked")],
      all.some(({ touched, kept }) => touched && !kept) && ["faint", words.faint || gettext("nothing stored yet")],
      all.some(({ touched }) => !touched) && ["unused", words.unused || gettext("never touched")],
    ].filter(Boolean);
  }

  function noted(request, isPart, rows, columns) {
    const note = gettext(
      "Colour is the bank, from 0 (blue) to {last} (yellow); framed are the lanes of this request, from L0 to L31, those in conflict bold with a marked corner; faint cells hold nothing yet, grey ones are never touched.",
      { last: request.banks - 1 },
    );
    return isPart ? `${note} ${gettext("Shown is a part of {rows} x {columns} elements.", { rows, columns })}` : note;
  }

  window.pictures.tile = function (request, array, room) {
    const lanes = lanesIn(request, array);
    const { columns } = array;
    const rows = array.address.length / columns;
    const words = array.words || {};
    const [firstRow, firstColumn] = array.from || [0, 0]; // of what the server sent of the array
    const [allRows, allColumns] = array.of || [rows, columns];
    const where = array.address.map((address, i) => (lanes.has(address) ? i : -1)).filter((i) => i >= 0);
    const [top, bottom] = windowOf(rows, where.map((i) => Math.floor(i / columns)));
    const [left, right] = windowOf(columns, where.map((i) => i % columns));
    const counted = (first, end) => Array.from({ length: end - first }, (_, i) => first + i);
    const apart = array.step || 1; // the numbers of columns
    const { width, height } = sized(room, right - left, bottom - top, LEFT, WIDEST * apart);
    const cells = cellsOf(request, array, lanes, counted(top, bottom), counted(left, right), width, height);
    const [across, down] = [LEFT + (right - left) * width, (bottom - top) * height];
    const places = new Map();
    for (const cell of cells.flat()) if (cell) put(places, lookOf(cell), cell.x, cell.y);
    const axes = [];
    const [down_step, across_step] = [step(height * 1.1), step(width)];
    for (let row = top; row < bottom; row += down_step) {
      axes.push(text(LEFT - 14, (row - top + 0.5) * height + 4, firstRow + row, "axis"));
    }
    for (let column = left; column < right; column += across_step) {
      const number = (firstColumn + column) * apart;
      if (Number.isInteger(number)) axes.push(text(LEFT + (column - left + 0.5) * width, down + 13, number, "axis"));
    }
    axes.push(text((LEFT + across) / 2, down + FOOT - 4, array.titles[0], "axis"), upright(down, array.titles[1]));
    const parts = [fills(places, width, height), ...values(cells, width, height), marked(cells, width, height), axes.join("")];
    const named = { array: array.name, cost: request.shape.cost };
    const isPart = bottom - top < allRows || right - left < allColumns;
    const cellAt = (x, y) => (cells[Math.floor(y / height)] || [])[Math.floor((x - LEFT) / width)];
    return {
      ...framed(across + 2, down + FOOT, parts),
      drawn: { left: LEFT, width, height, columns: right - left, down, size: array.size, cells: cells.flat().filter(Boolean) },
      says: where.length
        ? gettext("{array} with the lanes of this request: {cost}", named)
        : gettext("{array}, where this request has no lane", named),
      note: noted(request, isPart, allRows, allColumns),
      part: isPart ? gettext("Shown is a part of {rows} x {columns} elements.", { rows: allRows, columns: allColumns }) : "",
      legend: legend(cells, request.banks, words),
      at(x, y) {
        const cell = cellAt(x, y);
        return cell ? [cell.name, ...told(cell, words)] : null;
      },
      pick(x, y) {
        const cell = cellAt(x, y);
        return cell ? { lanes: cell.here ? cell.here.lanes : [], bank: cell.bank } : null;
      },
      lit({ request: other, lanes: those, bank }) {
        const there = lanesIn(other, array);
        const isFull = ({ address }) => there.has(address) && there.get(address).lanes.some((lane) => those.includes(lane));
        return veil(cells, { left: LEFT, width, height }, isFull, (cell) => cell.bank === bank);
      },
      tables: () => [
        {
          down: array.titles[1],
          across: array.titles[0],
          columns: counted(firstColumn + left, firstColumn + right),
          heads: counted(firstRow + top, firstRow + bottom),
          rows: cells.map((one) => one.map((cell) => (cell ? told(cell, words).join("; ") : ""))),
        },
      ],
    };
  };
})();
