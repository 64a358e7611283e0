// The border between source and pictures is dragged, or moved with the arrow keys; a double click puts it back.
(function () {
  "use strict";

  let queued = 0;

  function move(border, share) {
    const [least, most] = ["min", "max"].map((end) => Number(border.getAttribute(`aria-value${end}`)));
    const now = Math.min(Math.max(share, least), most);
    border.setAttribute("aria-valuenow", String(Math.round(now)));
    put(`${now.toFixed(1)}%`);
  }

  function put(left) {
    document.documentElement.style.setProperty("--left", left);
    window.cancelAnimationFrame(queued);
    queued = window.requestAnimationFrame(() => {
      window.dispatchEvent(new Event("resize")); // Plotly's figures
      window.smemviz.drawAgain();
    });
  }

  const borderOf = (event) => event.target.closest && event.target.closest(".border");

  // The share of the width, in percent, that is left of a border.
  function shareOf(border, x) {
    const around = border.parentElement.getBoundingClientRect();
    return (100 * (x - around.left)) / around.width;
  }

  document.addEventListener("pointerdown", (event) => borderOf(event) && borderOf(event).setPointerCapture(event.pointerId));
  document.addEventListener("pointermove", (event) => {
    const border = borderOf(event);
    if (border && border.hasPointerCapture(event.pointerId)) move(border, shareOf(border, event.clientX - 8));
  });
  document.addEventListener("dblclick", (event) => borderOf(event) && put(""));
  document.addEventListener("keydown", (event) => {
    const border = borderOf(event);
    if (!border) return;
    const [here, step] = [shareOf(border, border.getBoundingClientRect().left), 2];
    const share = { ArrowLeft: here - step, ArrowRight: here + step, Home: 0, End: 100 }[event.key];
    if (share === undefined) return;
    event.preventDefault();
    move(border, share);
  });
})();
