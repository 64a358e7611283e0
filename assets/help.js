// The sheet of keys. Keys that are a letter or a sign can be switched off, for those who speak to their machine or press
// keys unawares (WCAG 2.1.4); the browser keeps that.
(function () {
  "use strict";

  const { ids } = window.smemviz;
  const KEPT = "smemviz-letter-keys";
  const TYPING = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=textbox]";
  const root = document.documentElement;

  const sheet = () => document.getElementById(ids.HELP);

  function setLetterKeys(on) {
    root.dataset.letterKeys = on ? "on" : "off";
    window.localStorage.setItem(KEPT, root.dataset.letterKeys);
    document.getElementById(ids.LETTER_KEYS).setAttribute("aria-checked", String(on));
  }

  function open() {
    for (const part of sheet().querySelectorAll("[data-on]")) part.hidden = !document.querySelector(part.dataset.on);
    document.getElementById(ids.LETTER_KEYS).setAttribute("aria-checked", String(root.dataset.letterKeys === "on"));
    sheet().onkeydown = (event) => event.stopPropagation(); // the page behind does not move
    sheet().showModal();
  }

  root.dataset.letterKeys = window.localStorage.getItem(KEPT) === "off" ? "off" : "on";

  document.addEventListener("click", (event) => {
    if (!event.target.closest) return;
    if (event.target.closest(`#${ids.OPEN_HELP}`)) open();
    else if (event.target === sheet() || event.target.closest("[data-close]")) sheet().close(); // itself: beside it
    else if (event.target.closest(`#${ids.LETTER_KEYS}`)) setLetterKeys(root.dataset.letterKeys === "off");
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (root.dataset.letterKeys === "off" || event.target.closest(TYPING) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open();
  });
})();
