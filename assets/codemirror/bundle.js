// What of CodeMirror the editor page uses; README.md says how it is bundled.
export { basicSetup } from "codemirror";
export { Decoration, EditorView, WidgetType, keymap } from "@codemirror/view";
export { EditorState, Compartment, Prec, StateEffect, StateField } from "@codemirror/state";
export { indentWithTab } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { HighlightStyle, syntaxHighlighting, indentUnit } from "@codemirror/language";
export { tags } from "@lezer/highlight";
