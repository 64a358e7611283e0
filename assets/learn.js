// The browser's part of the lessons: knobs and answers are written into the URL, what was learned into this browser's
// storage, and nothing anywhere else. With ?present=1 keys step through a lesson, as presenters' remote controls do.
(function () {
  "use strict";

  const { names, ids, entitle, query, unchanged, visit, go, triggered, handOver } = window.smemviz;
  const NOTHING = "?"; // stands for what was checked without an answer, or with letters that a box for numbers drops
  const [GAP, BELOW, TITLE] = [24, 52, 32]; // pixels, between two pictures, below
  const HIGHER = 1.6; // times as high as they are drawn pictures may be on a screen that is not as wide
  const ABOVE = 0.4; // of the room that they leave is above them
  const PAPER = 680; // pixels, the type on a page is wide
  const FORWARD = ["ArrowRight", "ArrowDown", "PageDown", " "];
  const BACK = ["ArrowLeft", "ArrowUp", "PageUp"];
  let asked = false; // whether an answer was just given, or given up
  let given = ""; // the lesson's address and the answer that was last given here; others come in links
  let waiting = false; // whether the question was just asked again, so that its answer may be written at once
  const here = () => window.location.pathname.startsWith(`${names.learn}/`);
  const presenting = () => here() && query().has("present");

  const answered = (outcome) => Boolean(outcome) && ["right", "shown"].includes(outcome.outcome);

  // Which of the steps is on the screen: the one with the same query, but for theme and language.
  function stepsNow() {
    const place = document.getElementById(ids.LEARN_STEPS);
    const steps = place ? JSON.parse(place.dataset.steps).map((step) => new URL(step, window.location.href)) : [];
    const plain = (url) => {
      const params = new URLSearchParams(url.search);
      for (const name of ["theme", "lang"]) params.delete(name);
      params.sort();
      return `${url.pathname}?${params}`;
    };
    const path = place && place.dataset.path; // the lesson's own, whatever names it in the URL
    const now = plain({ pathname: path, search: window.location.search });
    let at = steps.findIndex((step) => plain(step) === now);
    if (at < 0) at = steps.findIndex((step) => step.pathname === path);
    return { steps, at, own: steps.filter((step) => step.pathname === path) };
  }

  function step(by) {
    const { steps, at } = stepsNow();
    const next = steps[at + by];
    if (!next) return;
    for (const name of ["theme", "lang"]) {
      if (query().has(name)) next.searchParams.set(name, query().get(name));
    }
    visit(next.pathname + next.search, true);
  }

  // The height that the server gave a picture, whatever it was stretched to since.
  function drawnHeight(graph) {
    if (graph.style.height !== graph.stretched) graph.drawn = parseFloat(graph.style.height);
    return graph.drawn;
  }

  // Code keeps its lines as far apart as they are; cells and bars may be higher.
  const isStretched = (graph) => ![...((graph.querySelector(".js-plotly-plot") || {}).data || [])].some(({ meta }) => meta === "characters");

  function stretch(graphs, factor) {
    for (const graph of graphs) {
      graph.stretched = `${Math.floor(drawnHeight(graph) * (isStretched(graph) ? factor : 1))}px`;
      graph.style.height = graph.stretched;
    }
  }

  // The server draws slides of 1280 x 720 with type that can be read there; a larger screen shows them as much larger, and
  // one that is not as wide for its height shows them higher.
  function scale() {
    const shown = [...document.querySelectorAll(".learn-panel:not([hidden])")].filter((panel) => panel.offsetParent);
    if (!presenting() || !shown.length) return;
    const place = shown[0].parentElement;
    const graphs = shown.map((panel) => panel.querySelector(".graph"));
    const [widths, heights] = [graphs.map(({ style }) => parseFloat(style.width)), graphs.map((graph) => TITLE + drawnHeight(graph))];
    const add = (numbers) => numbers.reduce((sum, n) => sum + n, GAP * (numbers.length - 1));
    const beside = place.classList.contains("beside");
    const down = window.innerHeight - place.getBoundingClientRect().top - BELOW;
    const all = beside ? Math.max(...heights) : add(heights);
    const across = place.parentElement.clientWidth; // beside the text, where that is explained
    const factor = Math.min(across / (beside ? add(widths) : Math.max(...widths)), down / all);
    document.documentElement.style.setProperty("--learn-scale", factor.toFixed(3));
    const high = graphs.filter(isStretched).map(drawnHeight);
    const part = beside ? Math.max(...high, 0) : high.reduce((sum, n) => sum + n, 0);
    const higher = part > 0 ? Math.min(1 + (down / factor - all) / part, HIGHER) : 1;
    stretch(graphs, higher);
    const left = down - factor * (all + (part > 0 ? part * (higher - 1) : 0));
    document.documentElement.style.setProperty("--learn-above", `${Math.round(left * ABOVE)}px`);
  }

  // What stands above the pictures, and they themselves, come to their size one after the other.
  const fitting = new ResizeObserver(() => window.requestAnimationFrame(scale));

  function mark() {
    const root = document.documentElement;
    root.classList.toggle("presenting", presenting());
    root.classList.toggle("explaining", presenting() && query().get("present") === names.why);
    const said = document.getElementById(ids.LEARN_STEP);
    if (said && presenting()) {
      const { steps, at, own } = stepsNow();
      said.textContent = gettext("Step {n} of {count}", { n: at - steps.indexOf(own[0]) + 1, count: own.length });
      for (const button of document.querySelectorAll("[data-learn-step]")) {
        button.disabled = !steps[at + Number(button.dataset.learnStep)];
      }
    }
    fitting.disconnect();
    if (!presenting()) document.querySelectorAll(".learn-panel .graph").forEach((graph) => graph.stretched && stretch([graph], 1));
    if (presenting()) document.querySelectorAll(".learn-title, .learn-words, .learn-shown").forEach((part) => fitting.observe(part));
    window.requestAnimationFrame(scale);
  }

  function leave() {
    go({ present: null });
    mark();
    document.getElementById(ids.LEARN_PRESENT).focus();
  }

  const letterKeys = () => document.documentElement.dataset.letterKeys !== "off";

  // An answer as its control has it: lanes are a list, all else is text.
  const answerIn = (text) => {
    if (!document.querySelector(".learn-lanes")) return text;
    return text.split(",").filter((lane) => /^\d+$/.test(lane));
  };

  const html = (type, children, props) => ({ namespace: "dash_html_components", type, props: { children, ...props } });
  const done = (kept, columns) => columns.filter(({ slug }) => kept.done.includes(slug)).length;

  // What a file holds that a student saved; null where it is something else.
  function progressIn(content) {
    try {
      const bytes = Uint8Array.from(atob(content.split(",")[1]), (letter) => letter.charCodeAt(0));
      const kept = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      const sound = kept.smemviz === "progress" && typeof kept.name === "string" && Array.isArray(kept.done);
      return sound ? kept : null;
    } catch {
      return null;
    }
  }

  // The control for an answer is a box to write in, or boxes to tick.
  function focusAnswer() {
    const place = document.getElementById(ids.LEARN_ANSWER_PLACE);
    const field = place.querySelector("input:checked") || place.querySelector("input");
    field.focus();
  }

  window.dash_clientside.smemviz_learn = {
    fill(run, controls, values, lesson) {
      if (!lesson) return controls.map(unchanged);
      const wished = query();
      return controls.map(({ name }, i) => {
        const wanted = wished.get(name) || lesson.defaults[name];
        return wanted === values[i] ? unchanged() : wanted;
      });
    },

    // A knob that is turned asks anew; where the picture is there already, the picture follows.
    set(values, outcome, lesson) {
      if (!lesson) return;
      const wished = query();
      for (const { id: { name }, value } of triggered()) {
        const now = wished.get(name) || lesson.defaults[name];
        if (value && value !== now) {
          go({ [name]: value === lesson.defaults[name] ? null : value, ANSWER: answered(outcome) ? names.show : null });
        }
      }
    },

    check(clicks, value) {
      if (!clicks) return;
      const text = Array.isArray(value) ? value.map(Number).sort((a, b) => a - b).join(",") || "none" : String(value);
      asked = Boolean(text);
      given = `${window.location.pathname} ${text}`;
      go({ ANSWER: text || NOTHING });
      if (!text || document.activeElement === document.body) focusAnswer(); // Enter took the focus from the box
    },

    show(clicks) {
      asked = Boolean(clicks);
      if (clicks) go({ ANSWER: names.show });
    },

    again(clicks) {
      if (!clicks) return unchanged();
      go({ ANSWER: null });
      waiting = true;
      return answerIn("");
    },

    // A link, Back and a reload bring the answer along; what was not checked yet is left alone.
    recall(run, value) {
      const text = query().get("ANSWER");
      if (!text || text === names.show || text === NOTHING) return unchanged();
      const given = answerIn(text);
      return String(given) === String(value) ? unchanged() : given;
    },

    present(clicks) {
      if (clicks) go({ present: "1" });
    },

    print(clicks) {
      if (clicks) window.print();
    },

    learned(outcome, progress) {
      const isOwn = given === `${window.location.pathname} ${query().get("ANSWER")}`;
      if (!outcome || outcome.outcome !== "right" || !isOwn || (progress || []).includes(outcome.slug)) return unchanged();
      return [...(progress || []), outcome.slug];
    },

    // What was learned, as a file that this browser makes and a teacher's reads.
    save(clicks, name, progress) {
      if (!clicks) return;
      const kept = { smemviz: "progress", schema: 1, name: (name || "").trim(), done: progress || [] };
      const file = `smemviz-progress${kept.name ? `-${kept.name.replace(/[^\p{L}\p{N}]+/gu, "-")}` : ""}.json`;
      handOver(file, "application/json", `${JSON.stringify(kept)}\n`);
    },

    // The files of a class, as a table: a row for each student, a column for each lesson.
    read_class(contents, files, columns) {
      if (!contents || !columns) return unchanged();
      const read = contents.map((content, i) => [progressIn(content), files[i]]);
      const students = read.filter(([kept]) => kept).sort(([a, f], [b, g]) => (a.name || f).localeCompare(b.name || g));
      const others = read.filter(([kept]) => !kept).map(([, file]) => file);
      const heads = columns.map(({ name, title }) => html("Th", name, { title, scope: "col" }));
      const rows = students.map(([kept, file]) => {
        const cells = columns.map(({ slug }) => html("Td", kept.done.includes(slug) ? "✓" : ""));
        return html("Tr", [html("Th", kept.name || file, { scope: "row" }), ...cells, html("Td", `${done(kept, columns)}`)]);
      });
      const each = columns.map(({ slug }) => html("Td", `${students.filter(([kept]) => kept.done.includes(slug)).length}`));
      const sum = html("Tr", [html("Th", gettext("{n} students", { n: students.length }), { scope: "row" }), ...each]);
      const head = html("Thead", html("Tr", [html("Th", gettext("Student"), { scope: "col" }), ...heads]));
      const table = students.length ? [html("Table", [head, html("Tbody", [...rows, sum])])] : [];
      return [...table, ...others.map((file) => html("P", gettext("{file}: is not a file of saved progress", { file })))];
    },

    // A kernel that was fixed in the editor.
    fixed(done, progress) {
      return !done || (progress || []).includes(done) ? unchanged() : [...(progress || []), done];
    },

    forget(clicks) {
      return clicks ? [] : unchanged();
    },

    show_progress(progress, lessons) {
      return lessons.map(({ slug }) => ((progress || []).includes(slug) ? gettext("Done") : ""));
    },

    count(progress, lessons) {
      const done = lessons.filter(({ slug }) => (progress || []).includes(slug)).length;
      return [gettext("{done} of {count} done", { done, count: lessons.length }), done === 0];
    },

    // After each change of the URL, and again once what it asked for has come.
    mark() {
      const heading = document.getElementById(ids.LEARN_TITLE);
      if (heading && here()) entitle(heading.textContent);
      mark();
      const because = document.getElementById(ids.LEARN_BECAUSE);
      if (asked && because && because.offsetParent) {
        because.focus(); // read out, and on a small screen scrolled to
        asked = false;
      } else if (waiting && because && !because.offsetParent) {
        focusAnswer();
        waiting = false;
      }
    },
  };

  document.addEventListener("keydown", (event) => {
    if (!here() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.closest("input:not([type=checkbox], [type=radio]), textarea, [role=option]");
    if (event.key === "Enter" && event.target.closest(`#${ids.LEARN_ANSWER_PLACE} input`)) {
      // The control hands its value over when the typing ends; a click comes after that.
      event.target.blur();
      window.setTimeout(() => document.getElementById(ids.LEARN_CHECK).click(), 0);
    } else if (presenting()) {
      if (event.key === " " && event.target.closest("button")) return; // which it presses
      const by = FORWARD.includes(event.key) ? 1 : BACK.includes(event.key) ? -1 : 0;
      if (by) {
        event.preventDefault();
        step(by);
      } else if (event.key === "Escape" || (event.key === "p" && letterKeys())) leave();
    } else if (event.key === "p" && !typing && letterKeys()) {
      go({ present: "1" });
    }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-learn-step]");
    if (!button) return;
    if (button.dataset.learnStep === "0") leave();
    else step(Number(button.dataset.learnStep));
  });
  window.addEventListener("beforeprint", () => {
    const place = document.getElementById(ids.LEARN_PANELS);
    const drawn = place && place.querySelector(".sheet");
    if (drawn) place.style.setProperty("--learn-printed", Math.min(1, PAPER / drawn.scrollWidth).toFixed(3));
  });
  window.addEventListener("resize", () => window.requestAnimationFrame(scale));
})();
