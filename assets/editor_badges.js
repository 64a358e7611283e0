// What the accesses of the shown kernel cost, at the ends of their lines in the editor itself.
(function () {
  "use strict";

  // The extension of CodeMirror that shows them: they move with their lines, and are pale once the text is another.
  function lineBadges({ Decoration, EditorView, StateEffect, StateField, WidgetType }) {
    class Badges extends WidgetType {
      constructor(html) {
        super();
        this.html = html;
      }

      eq(other) {
        return other.html === this.html;
      }

      toDOM() {
        const badges = Object.assign(document.createElement("span"), { className: "line-badges", innerHTML: this.html });
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
    const at = (position, html) => Decoration.widget({ widget: new Badges(html), side: 1 }).range(position);
    return {
      extension: field,
      // Show badges by line, as HTML of the server.
      show(view, byLine) {
        const lines = Object.keys(byLine).map(Number).filter((line) => line <= view.state.doc.lines);
        view.dispatch({ effects: put.of(lines.map((line) => at(view.state.doc.line(line).to, byLine[line]))) });
      },
    };
  }

  window.smemviz.lineBadges = lineBadges;
})();
