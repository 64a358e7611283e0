// Tabs: the part of a page whose tab is chosen shows, by a click or with the arrow keys.
(function () {
  "use strict";

  function choose(tab) {
    for (const one of tab.parentElement.querySelectorAll("[role=tab]")) {
      const isChosen = one === tab;
      one.setAttribute("aria-selected", String(isChosen));
      one.tabIndex = isChosen ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = !isChosen;
    }
  }

  const tabOf = (event) => event.target.closest && event.target.closest("[role=tab]");

  document.addEventListener("click", (event) => tabOf(event) && choose(tabOf(event)));
  document.addEventListener("keydown", (event) => {
    const tab = tabOf(event);
    if (!tab || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...tab.parentElement.querySelectorAll("[role=tab]")].filter((one) => one.offsetParent); // those shown
    const [here, last] = [all.indexOf(tab), all.length - 1];
    const next = { ArrowLeft: here ? here - 1 : last, ArrowRight: here < last ? here + 1 : 0, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(all[next]);
    all[next].focus();
  });
})();
