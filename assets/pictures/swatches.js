// List what the looks of cells stand for.
window.pictures.key = function (list, entries) {
  const said = JSON.stringify(entries);
  if (list.dataset.said === said) return;
  list.dataset.said = said;
  list.replaceChildren(...entries.map(([look, text]) => {
    const entry = document.createElement("li");
    const mark = document.createElement("i");
    mark.className = `mark-${look.replace(/\d+$/, "")}`;
    const [, last] = /^banks(\d+)$/.exec(look) || [];
    const through = [0, 0.25, 0.5, 0.75, 1].map((part) => `var(--bank${Math.round(part * last)})`);
    if (last) mark.style.background = `linear-gradient(90deg, ${through})`;
    else if (/\d$/.test(look)) mark.style.background = `var(--${look})`;
    entry.append(mark, text);
    return entry;
  }));
};
