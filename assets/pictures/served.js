// How a request is served: the lanes by bank and wavefront, or by line and sector of global memory.
(function () {
  "use strict";

  const { CELL, LEFT, FOOT, MOST, badge, ranges, text, sized, named, every, box, fill, fills, put, veil, upright, framed, step } = window.pictures;
  const LINE = 128; // bytes of global memory in a row
  const SECTOR = 32;
  const NAMES = 112; // pixels left of the lines
  const FEW = 8; // rows
  const LONGEST = 15; // letters that fit there

  const counted = (count) => Array.from({ length: count }, (_, i) => i);
  const spanned = (first, size) => gettext("{first} to {last}", { first, last: first + size - 1 });

  // A row per lane; what else there is to say of one is in `last`, under its head.
  function laneByLane(request, head, last) {
    const columns = [gettext("lane"), gettext("element"), gettext("address"), ...head];
    const rows = request.lanes().map(([lane, address]) => [
      lane,
      request.named(address),
      request.site.shared ? address : `0x${address.toString(16)}`,
      ...last(lane, address),
    ]);
    return { caption: gettext("Lane by lane"), columns, rows };
  }

  function banksByLane(request) {
    const { words, reason } = request.shape;
    const served = (lane) => ranges(words.filter((word) => word[0] === lane).map((word) => word[2] + 1));
    return laneByLane(request, [gettext("bank"), gettext("wavefront")], (lane, address) => [
      request.bank(address),
      reason ? "-" : served(lane),
    ]);
  }

  // Who is served in which cell, wavefront by wavefront: lanes, their words, and whether they are in conflict.
  function cellsOf(request, rows) {
    const { banks, shape, launch } = request;
    const cells = counted(rows).map(() => counted(banks).map(() => ({ lanes: [], words: new Set(), hot: false })));
    for (const [lane, offset, wavefront, conflict] of shape.words) {
      if (wavefront >= rows) continue;
      const address = request.base + offset;
      const cell = cells[wavefront][request.bank(address)];
      cell.lanes.push(lane);
      cell.words.add(Math.floor((address - launch.origin) / launch.width));
      cell.hot = cell.hot || Boolean(conflict);
    }
    return cells;
  }

  function told({ lanes, words, hot }) {
    if (!lanes.length) return [gettext("idle")];
    const those = ranges(lanes);
    const who = hot ? gettext("lane {lanes}, in conflict", { lanes: those }) : gettext("lane {lanes}", { lanes: those });
    return [who, gettext("word {words}", { words: ranges(words) })];
  }

  window.pictures.banks = function (request, room) {
    const { banks, shape } = request;
    if (shape.reason) return { svg: "", says: shape.reason, note: shape.reason, legend: [], tables: () => [banksByLane(request)] };
    const rows = Math.min(shape.wavefronts, MOST);
    const cells = cellsOf(request, rows);
    const { width, height } = sized(room, banks, rows);
    const down = Math.max(rows * height, room ? room.height - FOOT : 0);
    const top = (row) => down - (row + 1) * height;
    const stacked = cells.flatMap((one, row) => one.flatMap((cell, bank) =>
      cell.lanes.length ? [{ ...cell, bank, row, x: LEFT + bank * width, y: top(row), width, height }] : []));
    const places = new Map();
    for (const { bank, x, y } of stacked) put(places, `fill="var(--bank${bank})"`, x, y);
    const said = stacked.map(({ x, y, lanes, hot }) => ({ x, y, said: badge(lanes), kind: hot ? "hot" : "here" }));
    // A bank whose lanes wait for each other is framed, however low its cells are.
    const waits = counted(banks).map((bank) => stacked.filter((cell) => cell.hot && cell.bank === bank)).filter((cells) => cells.length);
    const frames = waits.map((cells) => {
      const highest = Math.min(...cells.map(({ y }) => y));
      return box(cells[0].x, highest, width, Math.max(...cells.map(({ y }) => y)) + height - highest, 'class="bad"');
    });
    const bins = fill(counted(banks).map((bank) => [LEFT + bank * width, 0]), width, down, 'class="idle"');
    const axes = [];
    const between = step(height * 1.1);
    for (let number = 1; number <= rows; number += number === 1 && between > 2 ? between - 1 : between) {
      axes.push(text(LEFT - 14, Math.max(top(number - 1) + height / 2 + 4, 9), number, "axis"));
    }
    for (let bank = 0; bank < banks; bank += step(width)) {
      axes.push(text(LEFT + (bank + 0.5) * width, down + 13, bank, "axis"));
    }
    const across = LEFT + banks * width;
    axes.push(text((LEFT + across) / 2, down + FOOT - 4, gettext("bank"), "axis"));
    axes.push(upright(down, gettext("wavefront")));
    const note = gettext("A bin per bank, a row per wavefront, the first at the bottom; in each cell the lanes it serves.");
    const more = gettext("The first {n} of {total} are shown.", { n: rows, total: shape.wavefronts });
    const table = () => ({
      down: gettext("wavefront"),
      across: gettext("bank"),
      columns: counted(banks),
      heads: cells.map((_, row) => row + 1),
      rows: cells.map((one) => one.map((cell) => told(cell).join("; "))),
    });
    return {
      ...framed(across, down + FOOT, [bins, fills(places, width, height), frames.join(""), named(said, width, height), axes.join("")]),
      drawn: { left: LEFT, width, height, columns: banks, down, cells: stacked },
      says: shape.cost,
      note: shape.wavefronts > rows ? `${note} ${more}` : note,
      part: shape.wavefronts > rows ? more : "",
      short: rows < FEW ? note : "", // beside a higher picture it leaves room for that
      legend: [
        [`banks${banks - 1}`, gettext("bank {first} to {last}", { first: 0, last: banks - 1 })],
        ...(waits.length ? [["bad", gettext("bank with lanes that wait")]] : []),
        ...(cells.flat().some(({ lanes }) => !lanes.length) ? [["idle", gettext("idle")]] : []),
      ],
      at(x, y) {
        const [wavefront, bank] = [Math.floor((down - y) / height), Math.floor((x - LEFT) / width)];
        const cell = (cells[wavefront] || [])[bank];
        return cell ? [gettext("bank {bank}, wavefront {wavefront}", { bank, wavefront: wavefront + 1 }), ...told(cell)] : null;
      },
      pick(x, y) {
        const bank = Math.floor((x - LEFT) / width);
        const cell = (cells[Math.floor((down - y) / height)] || [])[bank];
        return cell ? { lanes: cell.lanes, bank } : null;
      },
      lit({ request: other, lanes: those, bank: only }) {
        const used = new Set(other.lanes().map(([, address]) => other.bank(address)));
        const isHere = (cell) => cell.lanes.some((lane) => those.includes(lane));
        const isFull = (cell, bank) => (other.place === request.place ? isHere(cell) : other.site.shared && used.has(bank));
        return veil(cells, { left: LEFT, width, height, top }, isFull, (_, bank) => bank === only);
      },
      tables: () => [table(), banksByLane(request)],
    };
  };

  // The lines of a request in order of address: the lanes of their cells, and the bytes that are used.
  function linesOf(request, size) {
    const lines = new Map();
    for (const [lane, first] of request.lanes()) {
      const start = first - (first % LINE);
      if (!lines.has(start)) lines.set(start, { start, cells: counted(LINE / size).map(() => []), used: new Set() });
      const line = lines.get(start);
      line.cells[Math.floor((first - start) / size)].push(lane);
      for (let byte = first - start; byte < first - start + request.site.bytes; byte++) line.used.add(byte);
    }
    return [...lines.values()].sort((a, b) => a.start - b.start);
  }

  window.pictures.sectors = function (request, room) {
    const size = Math.max(request.site.bytes, 4);
    const lines = linesOf(request, size);
    const count = LINE / size;
    const fit = sized(room, count, lines.length, NAMES);
    const [width, height] = [room ? fit.width : (CELL * 32 * size) / LINE, fit.height];
    const each = (width * SECTOR) / size;
    const moved = lines.map(({ used }) => new Set([...used].map((byte) => Math.floor(byte / SECTOR))));
    const isMoved = (row, i) => moved[row].has(Math.floor((i * size) / SECTOR));
    const names = lines.map(({ start, used }) => request.named(start + Math.min(...used)));
    const said = [];
    const parts = lines.flatMap(({ cells, used }, row) => {
      const y = row * height;
      const name = names[row].length <= LONGEST ? names[row] : `…${names[row].slice(1 - LONGEST)}`;
      const drawn = [];
      if (row % every(height) === 0) drawn.push(text(NAMES - 6, y + height / 2 + 4, name, "axis name"));
      cells.forEach((lanes, i) => {
        const x = NAMES + i * width;
        const look = lanes.length ? 'fill="var(--bank0)"' : isMoved(row, i) ? 'fill="var(--paper)"' : 'class="idle"';
        drawn.push(box(x, y, width, height, look));
        const full = counted(size).every((byte) => used.has(i * size + byte));
        if (isMoved(row, i) && !full) {
          const [high, low] = [y + height * 0.2, y + height * 0.75];
          drawn.push(`<path class="waste" d="M${x + width * 0.18} ${low}L${x + width * 0.78} ${high}"/>`);
        }
      });
      cells.forEach((lanes, i) => lanes.length && said.push({ x: NAMES + i * width, y, said: badge(lanes), kind: "here" }));
      return [...drawn, ...[...moved[row]].map((sector) => box(NAMES + sector * each, y + 1, each, height - 2, 'class="sector"'))];
    });
    parts.push(named(said, width, height));
    const high = lines.length * height;
    for (let byte = 0; byte < LINE; byte += SECTOR) {
      parts.push(text(NAMES + (byte / SECTOR + 0.5) * each, high + 13, spanned(byte, SECTOR), "axis"));
    }
    const across = gettext("bytes of the 128-byte line, a sector each");
    parts.push(text(NAMES + 2 * each, high + FOOT - 4, across, "axis"));
    const state = (lanes, row, i) =>
      lanes.length ? ranges(lanes) : isMoved(row, i) ? gettext("moved and not used") : gettext("not moved");
    const table = () => ({
      across,
      columns: counted(count).map((i) => spanned(i * size, size)),
      heads: names,
      rows: lines.map(({ cells }, row) => cells.map((lanes, i) => state(lanes, row, i))),
    });
    const byLane = () =>
      laneByLane(request, [gettext("sector")], (_, address) => [Math.floor((address - lines[0].start) / SECTOR)]);
    const wasted = lines.some(({ used }, row) => used.size < moved[row].size * SECTOR);
    return {
      ...framed(NAMES + count * width + 2, high + FOOT, [parts.join("")]),
      says: request.shape.cost,
      note: gettext(
        "A row per line of 128 bytes, a frame per sector moved, in each cell the lanes it goes to; struck through are bytes moved and not used.",
      ),
      part: "",
      legend: [
        ["bank0", gettext("bytes that a lane uses")],
        ["sector", gettext("sector moved")],
        ...(wasted ? [["waste", gettext("moved and not used")]] : []),
        ["idle", gettext("not moved")],
      ],
      at(x, y) {
        const [row, i] = [Math.floor(y / height), Math.floor((x - NAMES) / width)];
        const lanes = lines[row] && lines[row].cells[i];
        if (!lanes) return null;
        const bytes = gettext("bytes {bytes}", { bytes: spanned(i * size, size) });
        return [names[row], bytes, lanes.length ? gettext("lane {lanes}", { lanes: ranges(lanes) }) : state(lanes, row, i)];
      },
      pick(x, y) {
        const lanes = (lines[Math.floor(y / height)] || { cells: [] }).cells[Math.floor((x - NAMES) / width)];
        return lanes ? { lanes, bank: null } : null;
      },
      lit({ request: other, lanes: those }) {
        const isFull = (lanes) => other.place === request.place && lanes.some((lane) => those.includes(lane));
        return veil(lines.map(({ cells }) => cells), { left: NAMES, width, height }, isFull, () => false);
      },
      tables: () => [table(), byLane()],
    };
  };
})();
