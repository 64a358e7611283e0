// What a picture says of the cell under the mouse; tables say it to those who have none.
(function () {
  "use strict";

  const AWAY = 14; // pixels from the mouse
  let box = null;

  function hide() {
    if (box) box.hidden = true;
  }

  function show(lines, x, y) {
    if (!box) {
      box = document.createElement("div");
      box.className = "cell-hover";
      box.setAttribute("aria-hidden", "true");
      document.body.append(box);
    }
    box.replaceChildren(...lines.map((said, i) => {
      const line = document.createElement(i ? "div" : "b");
      line.textContent = said;
      return line;
    }));
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.max(Math.min(x + AWAY, window.innerWidth - width - 4), 4)}px`;
    box.style.top = `${y + AWAY + height > window.innerHeight ? y - AWAY - height : y + AWAY}px`;
  }

  document.addEventListener("mousemove", (event) => {
    const place = window.pictures.pointed(event);
    if (!place || !place.figure.at) return hide();
    const lines = place.figure.at(place.x, place.y);
    if (lines) show(lines, event.clientX, event.clientY);
    else hide();
  });
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", hide);
})();
