// Plays a recording: unpacks it, draws the present request as SVG, and steps. It loads nothing.
(async function () {
  "use strict";

  const CELL = 22; // pixels
  const ROW = 20;
  const LEFT = 38;
  const FOOT = 34;
  const LINE = 128; // bytes of global memory in a row
  const SECTOR = 32;
  const MOST_ROWS = 64; // what is drawn of a large array: a window around the present request
  const MOST_COLUMNS = 64;

  const at = (id) => document.getElementById(id);
  const packed = atob(at("data").textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { banks, launches, worst } = await new Response(stream).json();

  let launch; // the one that is played
  let block; // of it
  let array; // its shared array that is drawn
  let place = 0; // of the present request in the block
  let timer = 0;
  let held = { until: -1, cells: new Map() }; // what the stores up to a place have left, by address

  for (const one of launches) {
    for (const part of one.blocks) {
      let address = 0;
      part.base = part.base.map((step) => (address += step));
    }
  }

  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const bankOf = (address) => Math.floor((address - launch.origin) / launch.width) % banks;
  const shapeAt = (i) => launch.shapes[block.shape[i]];
  const siteAt = (i) => launch.sites[block.site[i]];

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

  const text = (x, y, said, kind = "") => `<text x="${x}" y="${y}" class="${kind}" font-size="11">${escaped(said)}</text>`;
  const box = (x, y, width, height, look) =>
    `<rect x="${x}" y="${y}" width="${width - 1}" height="${height - 1}" ${look}/>`;
  const size = (said, width, most = 11) => Math.min(most, width / (0.62 * Math.max(String(said).length, 1)));
  const sized = (x, y, said, width, kind = "") =>
    size(said, width) < 6 ? "" : `<text x="${x}" y="${y}" class="${kind}" font-size="${size(said, width)}">${escaped(said)}</text>`;

  function draw(id, width, height, label, parts) {
    at(id).innerHTML =
      `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
      `aria-label="${escaped(label)}">${parts.join("")}</svg>`;
  }

  // Replay the stores up to the present request; the last one to an address stays.
  function contents() {
    if (held.block !== block || held.until > place) held = { block, until: -1, cells: new Map() };
    for (let i = held.until + 1; i <= place; i++) {
      const values = block.values[i];
      if (!values) continue;
      shapeAt(i).lanes.forEach((offset, lane) => {
        if (offset >= 0 && values[lane] !== "") held.cells.set(block.base[i] + offset, values[lane]);
      });
    }
    held.until = place;
    return held.cells;
  }

  // The lanes in each cell of the array, and whether one of them is in conflict.
  function lanesIn() {
    const found = new Map();
    if (!siteAt(place).shared) return found;
    const conflicting = new Set(shapeAt(place).words.filter((word) => word[3]).map((word) => word[0]));
    const wide = siteAt(place).bytes;
    shapeAt(place).lanes.forEach((offset, lane) => {
      if (offset < 0) return;
      const first = block.base[place] + offset;
      for (let byte = first - (first % array.size); byte < first + wide; byte += array.size) {
        const cell = found.get(byte) || { lanes: [], hot: false };
        cell.lanes.push(lane);
        cell.hot = cell.hot || conflicting.has(lane);
        found.set(byte, cell);
      }
    });
    return found;
  }

  function windowOf(count, most, places) {
    if (count <= most) return [0, count];
    const middle = places.length ? Math.floor((Math.min(...places) + Math.max(...places) + 1 - most) / 2) : 0;
    const first = Math.max(0, Math.min(middle, places.length ? Math.min(...places) : 0, count - most));
    return [first, first + most];
  }

  function drawTile() {
    at("tile-title").hidden = at("array-label").hidden = !array;
    at("tile").textContent = "";
    at("tile-note").textContent = array ? "" : gettext("This launch has no shared array.");
    if (!array) return;
    const cells = contents();
    const lanes = lanesIn();
    const columns = array.columns;
    const rows = array.address.length / columns;
    const where = array.address.map((address, i) => (lanes.has(address) ? i : -1)).filter((i) => i >= 0);
    const [top, bottom] = windowOf(rows, MOST_ROWS, where.map((i) => Math.floor(i / columns)));
    const [left, right] = windowOf(columns, MOST_COLUMNS, where.map((i) => i % columns));
    const width = right - left > 33 ? 16 : CELL;
    const parts = [];
    for (let row = top; row < bottom; row++) {
      const y = (row - top) * ROW;
      if ((row - top) % 4 === 0) parts.push(text(LEFT - 14, y + 14, row, "axis"));
      for (let column = left; column < right; column++) {
        const i = row * columns + column;
        const address = array.address[i];
        if (address < 0) continue;
        const x = LEFT + (column - left) * width;
        const value = cells.get(address);
        const bank = bankOf(address);
        const fill = !array.touched[i] ? "unused" : value === undefined ? `faint${bank}` : `bank${bank}`;
        const told = { element: array.names[i], bank, value };
        const title = value === undefined
          ? gettext("{element}, bank {bank}", told)
          : gettext("{element}, bank {bank}, holds {value}", told);
        parts.push(`<g><title>${escaped(title)}</title>`);
        parts.push(box(x, y, width, ROW, `fill="var(--${fill})"`));
        const here = lanes.get(address);
        if (here) {
          parts.push(`<rect x="${x}" y="${y}" width="${width - 1}" height="${ROW - 1}" class="${here.hot ? "bad" : "lane"}"/>`);
          if (here.hot) parts.push(`<path class="corner" d="M${x} ${y}h7l-7 7z"/>`);
          parts.push(sized(x + width / 2 - 0.5, y + 14, briefly(here.lanes), width - 3, here.hot ? "hot" : ""));
        } else if (value !== undefined) {
          parts.push(sized(x + width / 2 - 0.5, y + 14, value, width - 2, "value"));
        }
        parts.push("</g>");
      }
    }
    for (let column = left; column < right; column += 4) {
      parts.push(text(LEFT + (column - left + 0.5) * width, (bottom - top) * ROW + 13, column, "axis"));
    }
    const across = LEFT + (right - left) * width;
    const high = (bottom - top) * ROW + FOOT;
    parts.push(text((LEFT + across) / 2, high - 4, array.titles[0], "axis"));
    draw("tile", across + 2, high, gettext("{array} with the lanes of this request", { array: array.name }), parts);
    const isPart = bottom - top < rows || right - left < columns;
    const note = gettext(
      "Colour is the bank, from 0 (blue) to {last} (yellow); framed are the lanes of this request, those in conflict bold with a marked corner; faint cells hold nothing yet, grey ones are never touched.",
      { last: banks - 1 },
    );
    const part = gettext("Shown is a part of {rows} x {columns} elements.", { rows, columns });
    at("tile-note").textContent = isPart ? `${note} ${part}` : note;
  }

  function drawBanks() {
    const shape = shapeAt(place);
    at("banks").textContent = "";
    at("banks-note").textContent = shape.reason || "";
    if (shape.reason) return;
    const rows = Math.min(shape.wavefronts, MOST_ROWS);
    const cells = new Map();
    const crowd = new Set();
    for (const [lane, offset, wavefront, conflict] of shape.words) {
      if (wavefront >= rows) continue;
      const bank = bankOf(block.base[place] + offset);
      const key = wavefront * banks + bank;
      cells.set(key, [...(cells.get(key) || []), lane]);
      if (conflict) crowd.add(key);
    }
    const parts = [];
    for (let row = 0; row < rows; row++) {
      parts.push(text(LEFT - 14, row * ROW + 14, row + 1, "axis"));
      for (let bank = 0; bank < banks; bank++) {
        const lanes = cells.get(row * banks + bank);
        const x = LEFT + bank * CELL;
        parts.push(box(x, row * ROW, CELL, ROW, lanes ? `fill="var(--bank${bank})"` : 'class="idle"'));
        if (lanes) parts.push(sized(x + CELL / 2, row * ROW + 14, briefly(lanes), CELL - 2, crowd.has(row * banks + bank) ? "hot" : ""));
      }
    }
    for (let bank = 0; bank < banks; bank += 4) parts.push(text(LEFT + (bank + 0.5) * CELL, rows * ROW + 13, bank, "axis"));
    const width = LEFT + banks * CELL;
    parts.push(text((LEFT + width) / 2, rows * ROW + FOOT - 4, gettext("bank"), "axis"));
    draw("banks", width, rows * ROW + FOOT, gettext("Lanes by bank and wavefront: {cost}", { cost: shape.said }), parts);
    const note = gettext("A row per wavefront, from 1; in each cell the lanes it serves.");
    const more = gettext("The first {n} of {total} are shown.", { n: rows, total: shape.wavefronts });
    at("banks-note").textContent = shape.wavefronts > rows ? `${note} ${more}` : note;
  }

  function drawSectors() {
    const shape = shapeAt(place);
    const wide = siteAt(place).bytes;
    const cell = Math.max(wide, 4);
    const across = LINE / cell;
    const lines = new Map(); // the first byte of a line -> the lanes of its cells, and the bytes that are used
    shape.lanes.forEach((offset, lane) => {
      if (offset < 0) return;
      const first = block.base[place] + offset;
      const start = first - (first % LINE);
      if (!lines.has(start)) lines.set(start, { cells: new Map(), used: new Set() });
      const line = lines.get(start);
      const index = Math.floor((first - start) / cell);
      line.cells.set(index, [...(line.cells.get(index) || []), lane]);
      for (let byte = first - start; byte < first - start + wide; byte++) line.used.add(byte);
    });
    const width = (CELL * 32) / across;
    const parts = [];
    [...lines.keys()].sort((a, b) => a - b).forEach((start, row) => {
      const { cells, used } = lines.get(start);
      const moved = new Set([...used].map((byte) => Math.floor(byte / SECTOR)));
      for (let i = 0; i < across; i++) {
        const lanes = cells.get(i);
        const x = LEFT + i * width;
        const isMoved = moved.has(Math.floor((i * cell) / SECTOR));
        parts.push(box(x, row * ROW, width, ROW, lanes ? 'fill="var(--bank0)"' : isMoved ? 'fill="var(--paper)"' : 'class="idle"'));
        let full = true;
        for (let byte = i * cell; byte < (i + 1) * cell; byte++) full = full && used.has(byte);
        if (isMoved && !full) parts.push(`<path class="waste" d="M${x + 4} ${row * ROW + ROW - 5}L${x + width - 5} ${row * ROW + 4}"/>`);
        if (lanes) parts.push(sized(x + width / 2, row * ROW + 14, briefly(lanes), width - 2));
      }
      const each = (CELL * 32 * SECTOR) / LINE;
      for (const sector of moved) {
        parts.push(`<rect class="sector" x="${LEFT + sector * each}" y="${row * ROW + 1}" width="${each - 1}" height="${ROW - 3}"/>`);
      }
    });
    const label = gettext("Lines and sectors of global memory: {cost}", { cost: shape.said });
    draw("banks", LEFT + CELL * 32 + 2, lines.size * ROW + 4, label, parts);
    at("banks-note").textContent = gettext(
      "A row per line of 128 bytes, a frame per sector moved, in each cell the lanes it goes to; struck through are bytes moved and not used.",
    );
  }

  // What both pictures say of the request, a row per lane; made only while it is open.
  function listLanes() {
    at("lanes").textContent = "";
    if (!at("lanes-details").open || !block || !block.warp.length) return;
    const shape = shapeAt(place);
    const site = siteAt(place);
    const target = site.shared && launch.arrays.find((one) => one.name === site.array);
    const on = shape.lanes.map((offset, lane) => [lane, block.base[place] + offset, offset]).filter((row) => row[2] >= 0);
    const lowest = Math.min(...on.map((row) => row[1]));
    const served = (lane) => shape.words.filter((word) => word[0] === lane).map((word) => word[2] + 1);
    const named = (address) => (target && target.names[target.address.indexOf(address - (address % target.size))]) || "-";
    const heads = site.shared
      ? [gettext("lane"), gettext("element"), gettext("address"), gettext("bank"), gettext("wavefront")]
      : [gettext("lane"), gettext("address"), gettext("sector")];
    const rows = on.map(([lane, address]) =>
      site.shared
        ? [lane, named(address), address, bankOf(address), shape.reason ? "-" : [...new Set(served(lane))].join(", ")]
        : [lane, address, Math.floor((address - (lowest - (lowest % LINE))) / SECTOR)],
    );
    const cells = (name, row) => row.map((said) => `<${name}>${escaped(said)}</${name.split(" ")[0]}>`).join("");
    at("lanes").innerHTML =
      `<table><caption><span>${escaped(at("present").textContent)}</span></caption><thead><tr>${cells('th scope="col"', heads)}</tr></thead>` +
      `<tbody>${rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("")}</tbody></table>`;
  }

  function show() {
    const empty = !block || !block.warp.length;
    for (const id of ["first", "previous", "play", "next", "last", "place"]) at(id).disabled = empty;
    if (empty) {
      at("present").textContent = gettext("No request of this launch was logged.");
      for (const id of ["tile", "banks", "tile-note", "banks-note", "lanes"]) at(id).textContent = "";
      return;
    }
    const last = block.warp.length - 1;
    at("place").max = last;
    at("place").value = place;
    const site = siteAt(place);
    at("present").textContent = gettext("{n} of {total}: {access} of {site} by warp {warp}, step {step}: {cost}", {
      n: (place + 1).toLocaleString("en"),
      total: (last + 1).toLocaleString("en"),
      access: site.does,
      site: site.source,
      warp: block.warp[place],
      step: block.step[place],
      cost: shapeAt(place).said,
    });
    at("place").setAttribute("aria-valuetext", at("present").textContent);
    drawTile();
    at("banks-title").textContent = site.shared ? gettext("Banks by wavefront") : gettext("Sectors and lines");
    if (site.shared) drawBanks();
    else drawSectors();
    listLanes();
    for (const button of at("source").querySelectorAll("button")) {
      const here = Number(button.dataset.site) === block.site[place];
      button.setAttribute("aria-pressed", String(here));
      if (here) {
        at("source").querySelectorAll(".here").forEach((line) => line.classList.remove("here"));
        button.closest("li").classList.add("here");
      }
    }
  }

  function go(wanted) {
    if (!block) return;
    place = Math.max(0, Math.min(wanted, block.warp.length - 1));
    const site = siteAt(place);
    const goesTo = site.shared && launch.arrays.find((one) => one.name === site.array);
    if (goesTo && goesTo !== array && !at("array").dataset.chosen) {
      array = goesTo;
      at("array").value = array.name;
    }
    show();
  }

  function play(on) {
    window.clearInterval(timer);
    timer = 0;
    at("play").textContent = on ? "\u23F8\uFE0E" : "\u25B6\uFE0E";
    at("play").setAttribute("aria-label", on ? gettext("Pause") : gettext("Play"));
    if (!on) return;
    if (place >= block.warp.length - 1) go(0);
    timer = window.setInterval(() => {
      go(place + 1);
      if (place >= block.warp.length - 1) play(false);
    }, 1000 / Number(at("pace").value));
  }

  function options(id, texts) {
    at(id).replaceChildren(...texts.map((said, i) => new Option(said, String(i))));
  }

  function element(name, kind, said) {
    const made = document.createElement(name);
    made.className = kind;
    made.textContent = said;
    return made;
  }

  function listSource() {
    const lines = [];
    launch.files.forEach((file, nth) => {
      if (nth) lines.push(element("li", "file", file.name));
      for (const [number, said, sites] of file.lines) {
        const line = element("li", "", "");
        line.append(element("span", "number", number), said || " ");
        for (const i of sites) {
          const site = launch.sites[i];
          const button = element("button", site.excess ? "conflict" : "", `${site.excess ? "▲ " : ""}${site.source}  ${site.badge}`);
          button.type = "button";
          button.dataset.site = String(i);
          button.addEventListener("click", () => {
            const next = block ? block.site.indexOf(i) : -1;
            if (next >= 0) go(next);
          });
          line.append(button);
        }
        lines.push(line);
      }
    });
    at("source").replaceChildren(...lines);
  }

  function openBlock(i, start) {
    play(false);
    block = launch.blocks[i];
    go(start);
    if (!block) show();
  }

  function openLaunch(i) {
    launch = launches[i];
    at("headline").textContent = launch.headline;
    at("left-out").textContent = launch.left_out
      ? gettext("{n} more logged requests of this launch are counted and not played.", { n: launch.left_out.toLocaleString("en") })
      : "";
    options("block", launch.blocks.map((part) => part.block));
    at("array").replaceChildren(...launch.arrays.map((one) => new Option(one.name, one.name)));
    delete at("array").dataset.chosen;
    array = launch.arrays[0];
    listSource();
    const first = launch.blocks.findIndex((part) => part.block === launch.first);
    at("block").value = String(Math.max(first, 0));
    openBlock(Math.max(first, 0), launch.start);
  }

  const steps = {
    first: () => go(0),
    previous: () => go(place - 1),
    next: () => go(place + 1),
    last: () => go(block.warp.length - 1),
  };
  for (const [id, step] of Object.entries(steps)) {
    at(id).addEventListener("click", () => {
      play(false);
      step();
    });
  }
  at("lanes-details").addEventListener("toggle", listLanes);
  at("play").addEventListener("click", () => play(!timer));
  at("pace").addEventListener("change", () => timer && play(true));
  at("place").addEventListener("input", () => go(Number(at("place").value)));
  at("launch").addEventListener("change", () => openLaunch(Number(at("launch").value)));
  at("block").addEventListener("change", () => openBlock(Number(at("block").value), 0));
  at("array").addEventListener("change", () => {
    array = launch.arrays.find((one) => one.name === at("array").value);
    at("array").dataset.chosen = "yes";
    show();
  });

  const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !block || event.target.closest("select, input, summary")) return;
    const isButton = event.target.closest("button");
    if (KEYS[event.key]) at(KEYS[event.key]).click();
    else if (event.key === " " && !isButton) play(!timer);
    else return;
    event.preventDefault();
  });

  const isDark = () =>
    (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const offered = () => (at("theme").textContent = isDark() ? gettext("Light") : gettext("Dark"));
  at("theme").hidden = document.querySelector('meta[name="color-scheme"]').content !== "light dark";
  at("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    offered();
  });
  offered();

  at("player").hidden = false;
  options("launch", launches.map((one) => one.name));
  at("launch").value = String(worst);
  openLaunch(worst);
  document.documentElement.dataset.ready = "yes";
})();
