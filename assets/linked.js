// Linked light on the kernel page: who points at a lane, an element, a bank or an access in the source sees the same in
// all of them. A click in a picture pins it, Escape lets go; up and down, in a picture, go from lane to lane.
(function () {
  "use strict";

  const { ids } = window.smemviz;
  const presentRequest = () => window.smemviz.presentRequest(); // of playback.js, which is loaded later
  let pointed = null; // what is pointed at: { site } or { lanes, bank } of the present request
  let pinned = null;

  const figures = () => [ids.TILE, ids.REQUEST].map((id) => document.getElementById(id)).filter((one) => one && one.lit);
  const isOurs = (figure) => figures().includes(figure);

  // A lane that is pinned has another bank in the next request.
  function bankOf(request, { lanes, bank }) {
    const found = request.site.shared && request.lanes().find(([lane]) => lane === lanes[0]);
    return found ? request.bank(found[1]) : bank;
  }

  // The light of what is pointed at: a request, of which lanes, and one bank of all it is asked for.
  function lightOf(what) {
    const now = presentRequest();
    if (!what || !now) return null;
    if (what.site === undefined) return { request: now, bank: bankOf(now, what), lanes: what.lanes };
    const isHere = now.block.site[now.place] === what.site;
    const request = isHere ? now : window.smemviz.requestAt(what.site);
    return request && { request, bank: null, lanes: request.lanes().map(([lane]) => lane) };
  }

  function show() {
    const light = lightOf(pointed || pinned);
    for (const figure of figures()) {
      const [svg, veil] = [figure.querySelector("svg"), figure.querySelector(".veil")];
      if (veil) veil.remove();
      if (light && svg) svg.insertAdjacentHTML("beforeend", figure.lit(light));
    }
    const lit = light ? String(light.request.block.site[light.request.place]) : null;
    for (const one of document.querySelectorAll(`#${ids.SOURCE} [data-site]`)) one.classList.toggle("lit", one.dataset.site === lit);
  }

  function point(what) {
    if (JSON.stringify(what) === JSON.stringify(pointed)) return;
    pointed = what;
    show();
  }

  // Say what is lit to those who cannot see it.
  function say(what) {
    const request = presentRequest();
    const { lanes } = what;
    const bank = bankOf(request, what);
    const said = request.lanes().filter(([lane]) => lanes.includes(lane)).map(([lane, address]) => {
      const served = request.shape.words.filter((word) => word[0] === lane).map((word) => word[2] + 1);
      const where = { lane, element: request.named(address), bank, wavefront: window.pictures.ranges(served) };
      if (!request.site.shared) return gettext("lane {lane}: {element}", where);
      return gettext("lane {lane}: {element}, bank {bank}, wavefront {wavefront}", where);
    });
    document.getElementById(ids.LIT).textContent = said.join("; ") || (bank === null ? "" : gettext("bank {bank}", { bank }));
  }

  function pin(what) {
    pinned = what;
    show();
    if (what) say(what);
    else document.getElementById(ids.LIT).textContent = "";
  }

  const at = (event) => {
    const place = window.pictures.pointed(event);
    return place && isOurs(place.figure) ? place.figure.pick(place.x, place.y) : null;
  };
  const accessOf = (event) => {
    const one = event.target.closest && event.target.closest(`#${ids.SOURCE} [data-site]`);
    const line = event.target.closest && event.target.closest(`#${ids.SOURCE} .costs`);
    const found = one || (line && line.parentElement.querySelector(".badge.conflict, .badge"));
    return found ? { site: Number(found.dataset.site) } : null;
  };

  document.addEventListener("mousemove", (event) => point(at(event) || accessOf(event)));
  document.addEventListener("mouseleave", () => point(null));
  document.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && point(accessOf(event)));
  document.addEventListener("focusout", () => point(null));
  document.addEventListener("click", (event) => {
    const what = at(event);
    if (what) pin(JSON.stringify(what) === JSON.stringify(pinned) ? null : what);
  });

  document.addEventListener("figure-drawn", (event) => {
    if (!isOurs(event.target)) return;
    event.target.tabIndex = 0;
    // The other picture is drawn by then.
    if (pointed || pinned) window.requestAnimationFrame(() => (pinned ? pin(pinned) : show()));
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pinned) return pin(null);
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !isOurs(event.target) || !presentRequest()) return undefined;
    event.preventDefault();
    const lanes = presentRequest().lanes();
    const before = pinned ? lanes.findIndex(([lane]) => lane === pinned.lanes[0]) : -1;
    const [lane] = lanes[(Math.max(before + step, -1) + lanes.length) % lanes.length] || [];
    return lane === undefined ? undefined : pin({ lanes: [lane], bank: null });
  });
})();
