// Saves a figure of the page as a file. It is drawn anew from the data on the page, and nothing leaves this machine.
(function () {
  "use strict";

  const { ids } = window.smemviz;
  const FORMS = { svg: "image/svg+xml", png: "image/png", html: "text/html", gif: "image/gif", mp4: "video/mp4", webm: "video/webm" };
  const SUITES = "/_dash-component-suites/";

  // The figure that shares the nearest surroundings with a button.
  function figureOf(button) {
    for (let around = button.parentElement; around; around = around.parentElement) {
      const found = around.querySelector(".js-plotly-plot, .own-figure");
      if (found) return found;
    }
    return null;
  }

  function fileName(name, form) {
    const kernel = new URLSearchParams(window.location.search).get("kernel");
    const words = [kernel, name].filter(Boolean).join("-").toLowerCase();
    return `${words.replace(/[^\p{L}\p{N}_]+/gu, "-").replace(/^-+|-+$/g, "")}.${form}`;
  }

  // Type that is light on dark is no use without the dark behind it.
  function spec(figure) {
    const isDark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
    const panel = figure.closest(".panel") || document.body;
    const paper = isDark ? window.getComputedStyle(panel).backgroundColor : "rgba(0,0,0,0)";
    return { data: figure.data, layout: { ...figure.layout, paper_bgcolor: paper } };
  }

  // What stands below a figure that is saved: of what it is, what it shows, how to read it, where its numbers come from.
  function caption(figure) {
    const said = (selector, from) => {
      const found = from && from.querySelector(selector);
      return found ? found.innerText.trim() : ""; // what is hidden is left out
    };
    const title = document.querySelector(`#${ids.PAGE} .title`);
    const [what, headline] = [said(".eyebrow", title), said(".headline", title)];
    const about = what && headline ? gettext("{what}: {headline}", { what, headline }) : what || headline;
    return [about, saysOf(figure), said(".note", figure.closest(".panel")), said(".origin", document.getElementById(ids.PAGE))].filter(Boolean);
  }

  const saysOf = (figure) => figure.says || ((figure.layout || {}).meta || {}).says;

  // A picture that scripts draw, with the looks that the page gives it.
  function drawing(figure) {
    const [from, made] = [figure.querySelector("svg"), figure.querySelector("svg").cloneNode(true)];
    const looks = ["fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "text-anchor"];
    const veil = made.querySelector(".veil"); // of a lane that is lit
    const [old, parts] = [from, made].map((one) => [...one.querySelectorAll("*")]);
    old.forEach((one, i) => {
      const style = window.getComputedStyle(one);
      for (const look of looks) parts[i].setAttribute(look, style.getPropertyValue(look));
      parts[i].removeAttribute("class");
    });
    if (veil) veil.remove();
    made.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    made.removeAttribute("aria-hidden");
    const isDark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
    if (isDark) made.style.background = window.getComputedStyle(figure.closest(".panel")).backgroundColor;
    return made;
  }

  async function rastered(figure) {
    const made = drawing(figure);
    const [width, height] = ["width", "height"].map((side) => 3 * Number(made.getAttribute(side)));
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(made.outerHTML)}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    canvas.getContext("2d").drawImage(image, 0, 0, width, height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  const inScript = (data) => JSON.stringify(data).replaceAll("<", "\\u003c");

  async function hash(text) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return `'sha256-${btoa(String.fromCharCode(...digest))}'`;
  }

  async function loaded(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    return answer.text();
  }

  function plotlyStart(figure) {
    const { data, layout } = spec(figure);
    const config = { displaylogo: false, displayModeBar: false, responsive: true, showSendToCloud: false, plotlyServerURL: "" };
    config.modeBarButtonsToRemove = ["sendChartToCloud"];
    return `Plotly.newPlot("figure", ${inScript(data)}, ${inScript(layout)}, ${inScript(config)});`;
  }

  function ownStart(figure) {
    const own = `{ says: ${inScript(figure.says)}, tables: () => (${inScript(figure.tables())}) }`;
    return `const figure = document.getElementById("figure"); Object.assign(figure, ${own}); figure.dispatchEvent(new Event("figure-drawn", { bubbles: true }));`;
  }

  // The same page as `smemviz export` writes: plotly.js, the figure and its table in one file, which may load nothing.
  async function page(figure, title) {
    const root = document.querySelector(`script[src*="${SUITES}"]`).src.split(SUITES)[0];
    const tables = document.querySelector('script[src*="/tables.js"]').src;
    const language = await loaded(tables.replace("/tables.js", "/language.js"));
    const own = figure.matches(".own-figure");
    const start = own ? ownStart(figure) : plotlyStart(figure);
    const plotly = own ? [] : [await loaded(`${root}${SUITES}plotly/package_data/plotly.min.js`)];
    // Without a secure context (a page served by address over HTTP) there is no hash; then any script of the file runs.
    const scripts = [language, await loaded(tables), ...plotly, start];
    const allowed = window.crypto.subtle ? (await Promise.all(scripts.map(hash))).join(" ") : "'unsafe-inline'";
    const policy = `default-src 'none'; script-src ${allowed}; style-src 'unsafe-inline'; img-src data: blob:`;
    const style = window.getComputedStyle(figure.closest(".panel") || document.body);
    const made = document.implementation.createHTMLDocument(title);
    made.documentElement.lang = document.documentElement.lang;
    made.head.insertAdjacentHTML(
      "afterbegin",
      `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">` +
        '<meta name="viewport" content="width=device-width, initial-scale=1">' +
        `<style>body { margin: 1.5rem; font: 15px/1.5 sans-serif; background: ${style.backgroundColor}; color: ${style.color}; }` +
        " main { max-width: 1000px; margin: 0 auto; } h1 { font-size: 20px; } figure { margin: 0; }" +
        " .scroller { overflow-x: auto; } figcaption { max-width: 75ch; } .figure-table .scroller { max-height: 420px; }" +
        " table { border-collapse: collapse; font-size: 13px; width: max-content; } caption { text-align: left; }" +
        " th, td { border: 1px solid; padding: 3px 8px; text-align: left; vertical-align: top; font-weight: 400; }" +
        " td { max-width: 240px; } button { font: inherit; }" +
        ` #figure { min-width: 640px; height: ${figure.offsetHeight}px; }</style>`,
    );
    made.body.innerHTML =
      '<main><h1></h1><button type="button" aria-expanded="false"></button><figure><div class="scroller" tabindex="0" role="region">' +
      '<div id="figure" role="group"></div></div><figcaption></figcaption></figure></main>';
    made.querySelector("h1").textContent = title;
    made.querySelector("button").textContent = gettext("Table");
    made.querySelector("button").dataset.table = title;
    made.body.prepend(document.getElementById("messages").cloneNode(true));
    made.querySelector(".scroller").setAttribute("aria-label", title);
    made.getElementById("figure").setAttribute("aria-label", saysOf(figure) || title);
    if (own) {
      made.getElementById("figure").className = "own-figure";
      made.getElementById("figure").append(drawing(figure));
    }
    for (const line of caption(figure)) {
      const paragraph = made.createElement("p");
      paragraph.textContent = line;
      made.querySelector("figcaption").append(paragraph);
    }
    for (const text of scripts) {
      const script = made.createElement("script");
      script.textContent = text;
      made.body.append(script);
    }
    return `<!doctype html>\n${made.documentElement.outerHTML}`;
  }

  // The request in every layout, in motion: as `smemviz export` writes it, in the theme of the page.
  async function animated() {
    const { pathname, search } = window.location;
    const isDark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
    const answer = await fetch(`${pathname}.gif${search || "?"}&theme=${isDark ? "dark" : "light"}`);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.blob();
  }

  // What this browser films: many programs that show slides take MP4 and no WebM.
  const films = window.ImageDecoder && window.MediaRecorder ? ["mp4", "webm"] : [];
  window.smemviz.film = films.find((form) => window.MediaRecorder.isTypeSupported(FORMS[form]));

  // The same as a film, which takes as long to record as to watch.
  async function filmed(form) {
    const decoder = new window.ImageDecoder({ data: await (await animated()).arrayBuffer(), type: FORMS.gif });
    await Promise.all([decoder.completed, decoder.tracks.ready]);
    const { frameCount } = decoder.tracks.selectedTrack;
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    const recorder = new window.MediaRecorder(canvas.captureStream(), { mimeType: FORMS[form], videoBitsPerSecond: 8e6 });
    const parts = [];
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    const stopped = new Promise((done) => recorder.addEventListener("stop", done));
    for (let i = 0; i < frameCount; i++) {
      const { image } = await decoder.decode({ frameIndex: i });
      const [width, height] = [image.displayWidth, image.displayHeight].map((side) => side - (side % 2)); // as MP4 wants
      if (!i) Object.assign(canvas, { width, height });
      if (!i) recorder.start();
      pen.drawImage(image, 0, 0);
      await new Promise((done) => setTimeout(done, image.duration / 1000));
      image.close();
    }
    recorder.stop();
    await stopped;
    return new Blob(parts, { type: FORMS[form] });
  }

  async function content(figure, form, title) {
    if (form === "gif") return animated();
    if (form === window.smemviz.film) return filmed(form);
    if (form === "html") return page(figure, title);
    if (figure.matches(".own-figure")) return form === "png" ? rastered(figure) : drawing(figure).outerHTML;
    const size = { width: figure.offsetWidth, height: figure.offsetHeight, scale: form === "png" ? 3 : 1 };
    const url = await window.Plotly.toImage(spec(figure), { format: form, ...size });
    return (await fetch(url)).blob();
  }

  document.addEventListener("click", async (event) => {
    const inside = event.target.closest(".save");
    for (const open of document.querySelectorAll(".save[open]")) if (open !== inside) open.open = false;
    const button = event.target.closest("[data-save]");
    if (!button) return;
    const { save: form, name } = button.dataset;
    const figure = figureOf(button);
    inside.open = false;
    if (figure) window.smemviz.handOver(fileName(name, form), FORMS[form], await content(figure, form, name));
  });

  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && event.target.closest && event.target.closest(".save[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });
})();
