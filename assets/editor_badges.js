// What the accesses of the shown kernel cost, in the editor itself: at the ends of their lines, or below where a line leaves
// no room.
(function () {
  "use strict";

  const BEFORE = 4; // characters between a line and its badges, and after them
  const AROUND = 60; // pixels of text that stay in sight beside the line that is scrolled to

  // The extension of CodeMirror that shows them: they move with their lines, and are pale once the text is another.
  function lineBadges({ Decoration, EditorView, StateEffect, StateField, WidgetType }) {
    class Badges extends WidgetType {
      constructor(html, block) {
        super();
        Object.assign(this, { html, block });
      }

      eq(other) {
        return other.html === this.html && other.block === this.block;
      }

      toDOM() {
        const badges = Object.assign(document.createElement(this.block ? "div" : "span"), { className: "line-badges", innerHTML: this.html });
        for (const one of badges.children) one.setAttribute("aria-pressed", String(Number(one.dataset.site) === window.smemviz.site));
        return badges;
      }

      ignoreEvent() {
        return true; // a click on one is no click into the text
      }
    }

    const put = StateEffect.define();
    const field = StateField.define({
      create: () => ({ badges: Decoration.none, old: false }),
      update(shown, change) {
        const next = change.effects.find((effect) => effect.is(put));
        if (next) return { badges: Decoration.set(next.value), old: false };
        return change.docChanged ? { badges: shown.badges.map(change.changes), old: true } : shown;
      },
      provide: (one) => [
        EditorView.decorations.from(one, ({ badges }) => badges),
        EditorView.editorAttributes.from(one, ({ old }) => ({ class: old ? "old-badges" : "" })),
      ],
    });

    const at = (position, html, block) => Decoration.widget({ widget: new Badges(html, block), side: 1, block }).range(position);
    let current = null; // badges by line, as HTML of the server, and the lines that have them below

    // How wide badges are, which nobody sees yet.
    function widthOf(view, html) {
      const badges = Object.assign(document.createElement("span"), { className: "line-badges measured", innerHTML: html });
      view.dom.append(badges);
      const { width } = badges.getBoundingClientRect();
      badges.remove();
      return width;
    }

    function place(view) {
      const { doc } = view.state;
      const room = view.scrollDOM.clientWidth - view.dom.querySelector(".cm-gutters").offsetWidth;
      const lines = Object.keys(current.byLine).map(Number).filter((line) => line <= doc.lines);
      const below = lines.filter((line) => {
        const { text } = doc.line(line);
        return (text.length + BEFORE) * view.defaultCharacterWidth + current.widths[line] > room;
      });
      if (String(below) === current.below) return;
      current.below = String(below);
      view.dispatch({ effects: put.of(lines.map((line) => at(doc.line(line).to, current.byLine[line], below.includes(line)))) });
    }

    // Scroll the text, and not the page, to the line of the present access, unless somebody writes in it.
    function uncover(view) {
      const mark = `data-site="${window.smemviz.site}"`;
      const line = current && Number(Object.keys(current.byLine).find((one) => current.byLine[one].includes(mark)));
      if (!line || line > view.state.doc.lines || view.hasFocus) return;
      const { top, bottom } = view.lineBlockAt(view.state.doc.line(line).from);
      const scroller = view.scrollDOM;
      if (top < scroller.scrollTop) scroller.scrollTop = top - AROUND;
      else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom + AROUND - scroller.clientHeight;
    }

    const follow = EditorView.updateListener.of(({ docChanged, geometryChanged, view }) => {
      if (docChanged) current = null;
      else if (geometryChanged && current) window.requestAnimationFrame(() => current && view.dom.isConnected && place(view));
    });
    return {
      extension: [field, follow],
      // Show badges by line, as HTML of the server.
      show(view, byLine) {
        const widths = Object.fromEntries(Object.entries(byLine).map(([line, html]) => [line, widthOf(view, html)]));
        current = { byLine, widths, below: null };
        place(view);
        uncover(view);
      },
      uncover,
    };
  }

  window.smemviz.lineBadges = lineBadges;
})();
