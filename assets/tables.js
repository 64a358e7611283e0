// What a figure says to those who do not see it: its name is a sentence of what it shows, and a button opens its table.
// Both are made from the figure itself; the table only while it is open.
(function () {
  "use strict";

  const MOST = 2048; // cells of a table that is shown; copying takes all of them
  const WIDEST = 64; // columns
  const LETTERS = 16; // pixels, which a lane's name takes
  const SMALLEST = 10; // pixels of its type
  const SETTLED = 80; // ms without another picture before an open table follows, so that playing stays smooth

  // Figures of plotly, and such as bring what they say and their tables, and tell when they were drawn.
  const FIGURES = ".js-plotly-plot, .own-figure";
  const saysOf = (figure) => figure.says || (figure.layout && figure.layout.meta && figure.layout.meta.says);

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  // What is nearest to an element of those that match: it shares the smallest surroundings with it.
  function nearest(start, selector) {
    for (let around = start.parentElement; around; around = around.parentElement) {
      const found = around.querySelector(selector);
      if (found) return found;
    }
    return null;
  }

  const drawn = new DOMParser();

  // A hover text without its marks; what stands on lines of its own is told apart by semicolons.
  function plain(text) {
    const lines = String(text).split(/<br\s*\/?>/i);
    return lines.map((line) => (/[<&]/.test(line) ? drawn.parseFromString(line, "text/html").body.textContent : line).trim())
      .filter(Boolean)
      .join("; ");
  }

  // The name of a cell, which is bold, is left out where its row and column say it; so is all of its line where they
  // have names of their own.
  function said(text, { named, rows }) {
    if (named) return plain(text);
    return plain(String(text).replace(rows ? /^<b>.*?<br>/ : /^<b>.*?<\/b>/, ""));
  }

  const axisOf = (figure, trace, side) => figure.layout[`${side}axis${(trace[`${side}axis`] || side).slice(1)}`] || {};
  const titleOf = (axis) => (axis.title && axis.title.text) || "";

  function tickOf(axis, value) {
    const at = axis.ticktext && axis.tickvals ? Array.from(axis.tickvals).indexOf(value) : -1;
    return at < 0 ? value : axis.ticktext[at] || String(value);
  }

  // Cells in rows and columns.
  function grid(figure, trace) {
    const meta = trace.meta || {};
    const { rows, columns, words } = meta;
    const z = Array.from(trace.z);
    const cell = (value, row, column) => {
      if (words) return Number.isFinite(value) ? words[value] : "";
      const text = trace.hovertext && trace.hovertext[row] && trace.hovertext[row][column];
      return text ? said(text, meta) : "";
    };
    const heads = Array.from(rows || trace.y || z.keys());
    const filled = [...heads.keys()].filter((row) => heads[row] !== ""); // others hold what is written between rows
    return {
      caption: figure.data.filter(({ type }) => type === "heatmap").length > 1 ? trace.name : "",
      down: titleOf(axisOf(figure, trace, "y")),
      across: titleOf(axisOf(figure, trace, "x")),
      columns: Array.from(columns || trace.x || z[0].keys()),
      heads: filled.map((row) => heads[row]),
      rows: filled.map((row) => Array.from(z[row], (value, column) => cell(value, row, column))),
    };
  }

  // Points, bars and lines: a row for each.
  function list(figure, traces) {
    const [x, y] = ["x", "y"].map((side) => axisOf(figure, traces[0], side));
    const rows = traces.flatMap((trace, number) =>
      Array.from(trace.x, (value, i) => [
        figure.data[trace.index ?? number].name || "",
        tickOf(x, value),
        tickOf(y, trace.y[i]),
        Array.isArray(trace.hovertext) ? plain(trace.hovertext[i]) : "",
      ]));
    const titles = [gettext("series"), titleOf(x), titleOf(y), gettext("what it says")];
    const kept = [0, 1, 2, 3].filter((column) => titles[column] && rows.some((row) => (row[column] ?? "") !== ""));
    const chosen = (row) => kept.map((column) => row[column]);
    return { caption: "", columns: chosen(titles), rows: rows.map(chosen) };
  }

  // The tables of a figure: the one it brings, else one for its cells, or for all of its marks.
  function tablesOf(figure) {
    if (figure.tables) return figure.tables();
    const own = figure.layout.meta && figure.layout.meta.table;
    if (own) return [{ caption: "", ...own }];
    const shown = figure._fullData.filter((trace) => trace.visible === true);
    const cells = shown.filter(({ type, hovertext, meta }) => type === "heatmap" && (hovertext || (meta && meta.words)));
    if (cells.length) return cells.map((trace) => grid(figure, trace));
    const marks = shown.filter(({ type, hoverinfo, x }) => type !== "heatmap" && hoverinfo !== "skip" && x && x.length);
    const told = marks.filter(({ x }) => x[0] !== null);
    return told.length ? [list(figure, told)] : [];
  }

  const written = (value) =>
    typeof value === "number" ? value.toLocaleString(document.documentElement.lang, { maximumSignificantDigits: 6 })
      : String(value ?? "");

  function header(table, columns) {
    const cells = columns.map((name) => element("th", { scope: "col" }, written(name)));
    if (!table.heads) return [element("tr", {}, ...cells)];
    const corner = table.down ? element("th", { scope: "col", rowspan: 2 }, table.down) : element("td", { rowspan: 2 });
    const across = { colspan: columns.length };
    const named = table.across ? element("th", { scope: "colgroup", ...across }, table.across) : element("td", across);
    return [element("tr", {}, corner, named), element("tr", {}, ...cells)];
  }

  function body(table, rows, columns) {
    return rows.map((row, i) => {
      const head = table.heads ? table.heads[i] : row[0];
      const cells = (table.heads ? row : row.slice(1)).slice(0, columns);
      return element("tr", {}, element("th", { scope: "row" }, written(head)),
        ...cells.map((value) => element("td", typeof value === "number" ? { class: "amount" } : {}, written(value))));
    });
  }

  function made(table, name) {
    const columns = table.columns.slice(0, WIDEST);
    const rows = table.rows.slice(0, Math.max(Math.floor(MOST / columns.length), 1));
    const caption = element("caption", {}, table.caption || name);
    const cut = rows.length < table.rows.length || columns.length < table.columns.length;
    if (cut) {
      const counts = { rows: rows.length, all: table.rows.length };
      const both = { ...counts, columns: columns.length, every: table.columns.length };
      const text = columns.length < table.columns.length
        ? gettext("The first {rows} of {all} rows and {columns} of {every} columns. Copy takes all.", both)
        : gettext("The first {rows} of {all} rows. Copy takes all.", counts);
      caption.append(element("span", { class: "note" }, text));
    }
    return element("table", {}, caption, element("thead", {}, ...header(table, columns)),
      element("tbody", {}, ...body(table, rows, table.heads ? columns.length : columns.length - 1)));
  }

  function commaSeparated(tables) {
    const quoted = (value) => (/[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
    const lines = ({ columns, heads, down, rows }) => {
      const first = heads ? [down, ...columns] : columns;
      return [first, ...rows.map((row, i) => (heads ? [heads[i], ...row] : row))];
    };
    return tables.map((table) => lines(table).map((line) => line.map(quoted).join(",")).join("\n")).join("\n\n");
  }

  function fill(figure, place, name) {
    const tables = tablesOf(figure);
    const nothing = element("p", {}, saysOf(figure) || gettext("The figure shows nothing yet."));
    place.querySelector(".scroller").replaceChildren(...(tables.length ? tables.map((table) => made(table, name)) : [nothing]));
  }

  function open(button, figure) {
    const name = button.dataset.table;
    const copy = element("button", { type: "button", class: "text-button" }, gettext("Copy"));
    copy.addEventListener("click", async () => {
      const done = await navigator.clipboard.writeText(commaSeparated(tablesOf(figure))).then(() => true, () => false);
      copy.textContent = done ? gettext("Copied") : gettext("Not allowed");
      window.setTimeout(() => (copy.textContent = gettext("Copy")), 1500);
    });
    const region = { class: "scroller", tabindex: 0, role: "region", "aria-label": gettext("Table of {name}", { name }) };
    const place = element("div", { class: "figure-table" }, copy, element("div", region));
    (figure.closest(".scroller") || figure.closest(".dash-graph") || figure).after(place);
    figure.table = { place, name, button };
    fill(figure, place, name);
    button.setAttribute("aria-expanded", "true");
    place.scrollIntoView({ block: "nearest" }); // a figure may fill the screen, and its table open below that
  }

  function close(figure) {
    figure.table.button.setAttribute("aria-expanded", "false");
    figure.table.place.remove();
    window.clearTimeout(figure.table.waiting);
    figure.table = null;
  }

  // Names that are wider than the cells of a narrow screen are written smaller; where that is too small, or they would
  // cover each other, none of their kind is.
  function uncovered(figure) {
    const sheet = figure.closest(".learn-panel .sheet");
    if (!sheet || !figure.data) return;
    sheet.classList.toggle("code", figure.data.some(({ meta }) => meta === "characters"));
    const { _length: width, range } = figure._fullLayout.xaxis;
    const cell = (width / Math.abs(range[1] - range[0])) * (figure.getBoundingClientRect().width / figure.clientWidth);
    for (const trace of figure.querySelectorAll(".scatterlayer .trace, .heatmaplayer")) {
      const { meta, textposition } = (trace.__data__ && trace.__data__[0] && trace.__data__[0].trace) || {};
      const texts = [...trace.querySelectorAll("text")];
      const boxes = texts.map((text) => text.getBoundingClientRect()).sort((a, b) => a.top - b.top || a.left - b.left);
      const covers = boxes.some((box, i) => i && Math.abs(box.top - boxes[i - 1].top) < 2 && box.left < boxes[i - 1].right);
      const widest = Math.max(0, ...boxes.map((box) => box.width));
      const small = texts.length ? (parseFloat(getComputedStyle(texts[0]).fontSize) * (cell - 2)) / widest : 0;
      const isWide = meta !== "characters" && textposition === "middle center" && widest > cell - 1;
      if (isWide && small >= SMALLEST) for (const one of texts) one.style.fontSize = `${small.toFixed(1)}px`;
      const isNarrow = (isWide && small < SMALLEST) || (meta === "badges" && cell < LETTERS);
      for (const one of meta === "badges" ? [trace] : texts) one.style.visibility = covers || isNarrow ? "hidden" : "";
    }
  }

  // Name the figure by what it shows now, and let its table follow when no more pictures come.
  function drew(figure) {
    uncovered(figure);
    const button = nearest(figure, "[data-table]");
    const says = saysOf(figure);
    const name = button ? button.dataset.table : "";
    figure.setAttribute("role", "img");
    figure.setAttribute("aria-label", name && says ? gettext("{name}: {sentence}", { name, sentence: says }) : says || name);
    const shown = figure.table;
    if (!shown) return;
    window.clearTimeout(shown.waiting);
    shown.waiting = window.setTimeout(() => fill(figure, shown.place, shown.name), SETTLED);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-table]");
    const figure = button && nearest(button, FIGURES);
    if (!figure) return;
    if (figure.table) close(figure);
    else open(button, figure);
  });

  document.addEventListener("figure-drawn", (event) => drew(event.target));

  // A figure is drawn for the first time when plotly puts its container into it.
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.on && target.classList.contains("js-plotly-plot") && !target.told) {
        target.told = true;
        target.on("plotly_afterplot", () => drew(target));
        drew(target);
      }
    }
  }).observe(document.body || document.documentElement, { childList: true, subtree: true });
})();
