// The gallery takes a kernel file that is dropped on it, pasted or chosen: the editor opens a text in Python, and for what
// it does not run the page gives the command that does.
(function () {
  "use strict";

  const MOST = 1 << 17; // characters, as in the editor
  const place = () => document.querySelector("main .bring");

  const GAP = "\u0000"; // where a command stands in a sentence, in type of its own

  function say(sentence, command = "") {
    const [before, after] = sentence.split(GAP);
    const code = Object.assign(document.createElement("code"), { textContent: command });
    place().querySelector(".brought").replaceChildren(before, ...(command ? [code, after] : []));
  }

  function bring(text, name = "") {
    const isCuda = /\.cuh?$/i.test(name) || (!name && text.includes("__global__"));
    if (isCuda) say(gettext("The editor runs Python. CUDA C++ opens with {command}, in the folder of the file.", { command: GAP }), `smemviz ${name || "mine.cu"}`);
    else if (/\.npz$/i.test(name)) say(gettext("A recording opens with {command}, in the folder of the file.", { command: GAP }), `smemviz ${name}`);
    else if (text.length > MOST) say(gettext("That is too long for the editor. It opens with {command}, in the folder of the file.", { command: GAP }), `smemviz ${name || "mine.py"}`);
    else if (/\bcuda\b/.test(text)) window.smemviz.openInEditor(text);
    else say(gettext("That is no kernel: nothing in it says cuda."));
  }

  const read = async (file) => file && bring(await file.text(), file.name);

  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest("[data-bring]")) return;
    const input = Object.assign(document.createElement("input"), { type: "file", accept: ".py,.cu,.npz" });
    input.addEventListener("change", () => read(input.files[0]));
    input.click();
  });

  const holdsFile = (event) => place() && event.dataTransfer && event.dataTransfer.types.includes("Files");
  const over = (on) => document.body.classList.toggle("over", on);
  document.addEventListener("dragover", (event) => holdsFile(event) && (event.preventDefault(), over(true)));
  document.addEventListener("dragleave", (event) => event.relatedTarget || over(false));
  document.addEventListener("drop", (event) => {
    over(false);
    if (!holdsFile(event)) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (place() && text.trim() && !document.activeElement.matches("input, textarea, [contenteditable]")) bring(text);
  });
})();
