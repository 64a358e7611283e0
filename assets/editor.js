// The editor page: CodeMirror, the text's way to the server and what comes back. The text itself is in the link, behind
// the #, which browsers keep to themselves.
(function () {
  "use strict";

  const { names, ids, isConstant, query, unchanged, visit } = window.smemviz;
  const MOST = 1 << 17; // characters that a link may unpack to
  let view = null; // the editor on the page, if there is one
  let parts = null; // CodeMirror, once it has been loaded
  let badges = null; // what shows the costs of accesses at their lines
  let asked = 0; // when the text as it is now was asked for; 0 when it was written on since
  let byHand = true; // whether somebody pressed a key or a button for that
  let sent = ""; // the text that was asked for
  let waited = 0; // how often the same was asked again
  const AGAIN = 1000; // ms until who waits in the queue asks again
  let written = 0; // the timer of what is being written
  let restored = false; // whether the text that is being run is the one that the URL's query belongs to
  const DRAFT = "smemviz-draft"; // under which the browser keeps what was written last, with the link it was written in
  const PAUSE = 300; // ms without another key before the draft is kept
  const REST = 400; // ms without another key before the text is run
  let resting = 0; // the timer of that
  let ofFile = null; // the server's name of the text that was run

  async function squeeze(text) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  // What a link holds; null when it is no text, or unpacks to more than any text may have.
  async function unsqueeze(packed) {
    try {
      const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
      const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
      const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
      const decoder = new TextDecoder("utf-8", { fatal: true });
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        text += decoder.decode(value, { stream: true });
        if (text.length > MOST) return null;
      }
    } catch {
      return null;
    }
  }

  window.smemviz.openInEditor = async (text) => visit(`${names.editor}#code=${await squeeze(text)}`);

  const linked = () => new URLSearchParams(window.location.hash.slice(1)).get("code");

  // What was written last; null where there is nothing, or where the browser keeps nothing for this page.
  function draft() {
    try {
      const kept = JSON.parse(window.localStorage.getItem(DRAFT));
      return kept && typeof kept.text === "string" && kept.text.length <= MOST ? kept : null;
    } catch {
      return null;
    }
  }

  let keep = null; // what keeps what has been written since, until it is kept

  function keepDraft(link) {
    keep = null;
    try {
      window.localStorage.setItem(DRAFT, JSON.stringify({ text: view.state.doc.toString(), link }));
    } catch {
      // the browser keeps nothing for this page; a link still carries the text
    }
  }

  function keepDraftSoon() {
    const link = linked();
    keep = () => keepDraft(link);
    window.clearTimeout(written);
    written = window.setTimeout(() => keep && keep(), PAUSE);
  }

  window.addEventListener("pagehide", () => keep && keep());

  // The text to begin with, and whether the query of the URL belongs to it: the link's, with what was written in it
  // since; the one that the URL names; what was written last; else the first.
  async function beginning(start) {
    if (keep) keep(); // what was written on the page before this one, a moment ago
    const code = linked();
    const kept = draft();
    if (!code && start.meant) return [start.text, true];
    if (!code) return [kept ? kept.text : start.text, false];
    const text = await unsqueeze(code);
    if (text === null) return [null, false];
    return kept && kept.link === code && kept.text !== text ? [kept.text, false] : [text, true];
  }

  function colours({ EditorView, HighlightStyle, tags }) {
    const look = EditorView.theme({
      "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
      "&.cm-focused": { outline: "none" },
      ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)" },
      ".cm-cursor": { borderLeftColor: "var(--ink)" },
      ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--muted)", border: "none" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--accent-wash, transparent)" },
      "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
        backgroundColor: "var(--accent-soft)",
      },
      ".cm-tooltip, .cm-panels": {
        backgroundColor: "var(--paper)",
        color: "var(--ink)",
        border: "1px solid var(--line)",
      },
      ".cm-diagnostic": { fontFamily: "var(--sans)" },
      ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--paper)" },
    });
    const highlight = HighlightStyle.define([
      { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--tok-k)" },
      { tag: [tags.string, tags.docString], color: "var(--tok-s)" },
      { tag: [tags.number, tags.bool, tags.null], color: "var(--tok-n)" },
      { tag: tags.comment, color: "var(--tok-c)", fontStyle: "italic" },
      { tag: tags.meta, color: "var(--tok-d)" },
    ]);
    return [look, highlight];
  }

  // What CodeMirror says by itself.
  const phrases = () => ({
    Find: gettext("Find"),
    Replace: gettext("Replace"),
    next: gettext("next"),
    previous: gettext("previous"),
    // TRANSLATORS: a button that selects all matches of a search
    all: gettext("all"),
    "match case": gettext("match case"),
    regexp: gettext("regexp"),
    "by word": gettext("by word"),
    replace: gettext("replace"),
    "replace all": gettext("replace all"),
    close: gettext("close"),
    "current match": gettext("current match"),
    // TRANSLATORS: followed by the number of a line
    "on line": gettext("on line"),
    // TRANSLATORS: $ is a number
    "replaced $ matches": gettext("replaced $ matches"),
    "replaced match on line $": gettext("replaced match on line $"),
    "Go to line": gettext("Go to line"),
    // TRANSLATORS: a button, after the number of the line to go to
    go: gettext("go"),
    "Selection deleted": gettext("Selection deleted"),
    Completions: gettext("Completions"),
    "Control character": gettext("Control character"),
    "Fold line": gettext("Fold line"),
    "Unfold line": gettext("Unfold line"),
    "Folded lines": gettext("Folded lines"),
    "Unfolded lines": gettext("Unfolded lines"),
    // TRANSLATORS: between the numbers of the first and the last line that are folded
    to: gettext("to"),
    "folded code": gettext("folded code"),
    unfold: gettext("unfold"),
    Diagnostics: gettext("Diagnostics"),
    "No diagnostics": gettext("No diagnostics"),
  });

  async function place(text) {
    parts = parts || (await import(`${names.prefix}/assets/codemirror/codemirror.mjs`));
    const host = document.getElementById(ids.EDITOR);
    if (!host) return; // the page was left meanwhile
    const { EditorView, EditorState, Prec, basicSetup, indentUnit, indentWithTab, keymap, python } = parts;
    const [look, highlight] = colours(parts);
    badges = window.smemviz.lineBadges(parts);
    const run = () => {
      ask();
      return true;
    };
    host.replaceChildren();
    view = new EditorView({
      doc: text,
      parent: host,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
        basicSetup,
        keymap.of([indentWithTab]),
        indentUnit.of("    "),
        EditorState.tabSize.of(4),
        EditorState.phrases.of(phrases()),
        python(),
        EditorView.lineWrapping,
        parts.lintGutter(),
        look,
        parts.syntaxHighlighting(highlight),
        badges.extension,
        EditorView.updateListener.of((update) => update.docChanged && writtenOn()),
        EditorView.contentAttributes.of({ "aria-label": gettext("Text of the kernel file") }),
      ],
    });
    // A region that scrolls has to be reachable by keyboard.
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", gettext("Text, scrolling")]]) {
      view.scrollDOM.setAttribute(name, value);
    }
  }

  // What is written is kept, and run when the typing pauses; what comes of an older text is not wanted any more.
  function writtenOn() {
    keepDraftSoon();
    asked = 0;
    window.clearTimeout(resting);
    resting = window.setTimeout(() => ask(false), REST);
  }

  function mark(marks) {
    if (!view) return;
    const lines = view.state.doc.lines;
    const found = marks.map(({ line, message, severity }) => {
      const { from, to, text } = view.state.doc.line(Math.min(Math.max(line, 1), lines));
      const renderMessage = () => Object.assign(document.createElement("span"), { lang: "en", textContent: message });
      return { from: from + (text.length - text.trimStart().length), to, message, severity, renderMessage };
    });
    view.dispatch(parts.setDiagnostics(view.state, found));
    if (found.length && byHand) view.dispatch({ effects: parts.EditorView.scrollIntoView(found[0].from, { y: "nearest" }) });
  }

  const say = (text) =>
    window.dash_clientside.set_props(ids.EDITOR_STATUS, {
      children: text,
      lang: document.documentElement.lang,
      className: "editor-status",
    });

  // The text as it is sent to the server, with the time, by which a late answer to an older text is known.
  function question() {
    window.clearTimeout(resting);
    asked = Date.now();
    sent = view.state.doc.toString();
    say(gettext("Running"));
    return { source: sent, at: asked };
  }

  // ``hand`` is whether somebody asked for it, who is then led to what is wrong.
  function ask(hand = true) {
    if (!view || !view.dom.isConnected) return;
    byHand = hand;
    if (view.state.doc.length > MOST) say(gettext("The text is too long for the editor."));
    else window.dash_clientside.set_props(ids.EDITOR_TEXT, { data: question() });
  }

  // The same question, which keeps its place in the queue.
  function askAgain(at) {
    if (!view || at !== asked) return;
    waited += 1;
    window.dash_clientside.set_props(ids.EDITOR_TEXT, { data: { source: sent, at, waited } });
  }

  // Another text is another file to the server, with launches, blocks and constants of its own. One that the URL names
  // already changes nothing in it, and what the page shows may be of another, or nothing yet.
  function showRun(file, code) {
    const next = query();
    const same = next.get("file") === file;
    for (const name of same || restored ? [] : [...next.keys()]) {
      if (isConstant(name) || ["launch", "block", "site", "warp", "step", "at", "array"].includes(name)) next.delete(name);
    }
    restored = false;
    ofFile = file;
    next.set("file", file);
    visit(`${window.location.pathname}?${next}#code=${code}`, true);
    const kept = draft();
    if (keep || (kept && kept.text === view.state.doc.toString())) keepDraft(code); // a link that was opened is no draft
    if (same) window.dash_clientside.set_props(ids.VERSION, { data: String(asked) });
  }

  window.smemviz.uncoverLine = () => view && view.dom.isConnected && badges.uncover(view);

  window.dash_clientside.smemviz_editor = {
    async open(start) {
      const [text, own] = await beginning(start);
      restored = own;
      await place(text === null ? start.text : text);
      if (text !== null) return question();
      say(gettext("The text in the link cannot be read. This is a file of the gallery instead."));
      return unchanged();
    },

    // The costs of another run of the text as it is, with other constants too.
    show_badges(shown) {
      if (view && view.dom.isConnected && asked && shown && shown.file === ofFile) badges.show(view, shown.badges);
    },

    load(text) {
      if (!view || typeof text !== "string") return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      ask();
    },

    ask(clicks) {
      if (clicks) ask();
    },

    async copy_link(clicks) {
      if (!clicks || !view) return;
      const url = new URL(window.location.href);
      url.hash = `code=${await squeeze(view.state.doc.toString())}`;
      url.searchParams.delete("file"); // the server's name for the text, which may forget it
      const copied = await navigator.clipboard.writeText(url.href).then(() => true, () => false);
      const said = copied
        ? gettext("The link is copied; it carries the text.")
        : gettext("Copy it by hand: {link}", { link: url.href });
      say(said);
    },

    async show(answer) {
      if (!answer || !view || answer.at !== asked) return Array(7).fill(unchanged());
      if (answer.waiting) {
        window.setTimeout(askAgain, AGAIN, answer.at);
        return [answer.message, answer.lang, "editor-status", ...Array(4).fill(unchanged())];
      }
      mark(answer.marks);
      if (answer.file) showRun(answer.file, await squeeze(view.state.doc.toString()));
      const status = `editor-status ${answer.file ? "ran" : "refused"}`;
      return [answer.message, answer.lang, status, ...answer.refused.map((value) => value ?? unchanged())];
    },
  };
})();
