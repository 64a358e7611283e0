// How a request is served: the lanes by bank and wavefront, or by line and sector of global memory.
(function () {
  "use strict";

  const { CELL, ROW, LEFT, FOOT, MOST, badge, ranges, text, fitted, box, upright, svg } = window.report;
  const LINE = 128; // bytes of global memory in a row
  const SECTOR = 32;
  const NAMES = 112; // pixels left of the lines
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

  window.report.banks = function (request) {
    const { banks, shape } = request;
    if (shape.reason) return { svg: "", says: shape.reason, note: shape.reason, tables: () => [banksByLane(request)] };
    const rows = Math.min(shape.wavefronts, MOST);
    const cells = counted(rows).map(() => counted(banks).map(() => ({ lanes: [], hot: false })));
    for (const [lane, offset, wavefront, conflict] of shape.words) {
      if (wavefront >= rows) continue;
      const cell = cells[wavefront][request.bank(request.base + offset)];
      cell.lanes.push(lane);
      cell.hot = cell.hot || Boolean(conflict);
    }
    const parts = cells.flatMap((line, row) => [
      text(LEFT - 14, row * ROW + 14, row + 1, "axis"),
      ...line.flatMap(({ lanes, hot }, bank) => {
        const [x, y] = [LEFT + bank * CELL, row * ROW];
        if (!lanes.length) return [box(x, y, CELL, ROW, 'class="idle"')];
        const kind = hot ? "hot" : "";
        return [box(x, y, CELL, ROW, `fill="var(--bank${bank})"`), fitted(x + CELL / 2, y + 14, badge(lanes), CELL - 2, kind)];
      }),
    ]);
    for (let bank = 0; bank < banks; bank += 4) parts.push(text(LEFT + (bank + 0.5) * CELL, rows * ROW + 13, bank, "axis"));
    const width = LEFT + banks * CELL;
    parts.push(text((LEFT + width) / 2, rows * ROW + FOOT - 4, gettext("bank"), "axis"));
    parts.push(upright(rows * ROW, gettext("wavefront")));
    const note = gettext("A row per wavefront, from 1; in each cell the lanes it serves.");
    const more = gettext("The first {n} of {total} are shown.", { n: rows, total: shape.wavefronts });
    const lanesOf = ({ lanes, hot }) => (hot ? gettext("{lanes}, in conflict", { lanes: ranges(lanes) }) : ranges(lanes));
    const table = () => ({
      down: gettext("wavefront"),
      across: gettext("bank"),
      columns: counted(banks),
      heads: cells.map((_, row) => row + 1),
      rows: cells.map((line) => line.map(lanesOf)),
    });
    return {
      svg: svg(width, rows * ROW + FOOT, parts),
      says: shape.said,
      note: shape.wavefronts > rows ? `${note} ${more}` : note,
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

  window.report.sectors = function (request) {
    const size = Math.max(request.site.bytes, 4);
    const lines = linesOf(request, size);
    const width = (CELL * 32 * size) / LINE;
    const each = (CELL * 32 * SECTOR) / LINE;
    const moved = lines.map(({ used }) => new Set([...used].map((byte) => Math.floor(byte / SECTOR))));
    const isMoved = (row, i) => moved[row].has(Math.floor((i * size) / SECTOR));
    const names = lines.map(({ start, used }) => request.named(start + Math.min(...used)));
    const parts = lines.flatMap(({ cells, used }, row) => {
      const y = row * ROW;
      const name = names[row].length <= LONGEST ? names[row] : `…${names[row].slice(1 - LONGEST)}`;
      const drawn = [text(NAMES - 6, y + 14, name, "axis name")];
      cells.forEach((lanes, i) => {
        const x = NAMES + i * width;
        const look = lanes.length ? 'fill="var(--bank0)"' : isMoved(row, i) ? 'fill="var(--paper)"' : 'class="idle"';
        drawn.push(box(x, y, width, ROW, look));
        const full = counted(size).every((byte) => used.has(i * size + byte));
        if (isMoved(row, i) && !full) drawn.push(`<path class="waste" d="M${x + 4} ${y + ROW - 5}L${x + width - 5} ${y + 4}"/>`);
        if (lanes.length) drawn.push(fitted(x + width / 2, y + 14, badge(lanes), width - 2));
      });
      return [...drawn, ...[...moved[row]].map((sector) => box(NAMES + sector * each, y + 1, each, ROW - 2, 'class="sector"'))];
    });
    const high = lines.length * ROW;
    for (let byte = 0; byte < LINE; byte += SECTOR) {
      parts.push(text(NAMES + (byte / SECTOR + 0.5) * each, high + 13, spanned(byte, SECTOR), "axis"));
    }
    const across = gettext("bytes of the 128-byte line, a sector each");
    parts.push(text(NAMES + 2 * each, high + FOOT - 4, across, "axis"));
    const said = (lanes, row, i) =>
      lanes.length ? ranges(lanes) : isMoved(row, i) ? gettext("moved and not used") : gettext("not moved");
    const table = () => ({
      across,
      columns: counted(LINE / size).map((i) => spanned(i * size, size)),
      heads: names,
      rows: lines.map(({ cells }, row) => cells.map((lanes, i) => said(lanes, row, i))),
    });
    const byLane = () =>
      laneByLane(request, [gettext("sector")], (_, address) => [Math.floor((address - lines[0].start) / SECTOR)]);
    return {
      svg: svg(NAMES + CELL * 32 + 2, high + FOOT, parts),
      says: request.shape.said,
      note: gettext(
        "A row per line of 128 bytes, a frame per sector moved, in each cell the lanes it goes to; struck through are bytes moved and not used.",
      ),
      tables: () => [table(), byLane()],
    };
  };
})();
