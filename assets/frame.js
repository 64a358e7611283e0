// The frame of the pages: where the reader is, links inside the dashboard, the language and the theme.
(function () {
  "use strict";

  const { names, ids, pageAt, query, visit, go } = window.smemviz;
  const KEPT = ["theme", "lang"]; // by every link inside the page
  const KEPT_IN_FILE = ["view", "banks", "scope", "speed"]; // by links between kernels of one file

  // Where in the header's list the reader is; kernels and lessons belong to the page that leads to them.
  function markPage(path) {
    const page = pageAt(path);
    for (const link of document.querySelectorAll(".site-header nav a")) {
      const there = new URL(link.href).pathname;
      if (there === path) link.setAttribute("aria-current", "page");
      else if (page && there === page.header) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  // Show in the frame which page this is, and which theme there is to switch to.
  function markFrame(path, theme) {
    markPage(path);
    const label = theme === "dark" ? gettext("Switch to the light theme") : gettext("Switch to the dark theme");
    document.getElementById(ids.TOGGLE_THEME).setAttribute("aria-label", label);
  }

  window.smemviz.markFrame = markFrame;
  window.dash_clientside.smemviz_frame = {
    // A page has come: what stood there meanwhile goes, and its places are there only now.
    show_page(page) {
      const meanwhile = document.getElementById(ids.FIRST_WORDS);
      if (page && meanwhile) meanwhile.remove();
      const id = decodeURIComponent(window.location.hash.slice(1));
      if (!id || window.location.pathname === names.editor) return;
      window.setTimeout(() => {
        const place = document.getElementById(id);
        if (place) place.scrollIntoView();
      });
    },
  };

  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest(`#${ids.TOGGLE_THEME}`)) return;
    const dark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
    go({ theme: dark ? "light" : "dark" });
  });

  // Links inside the page keep the theme, and between kernels of one file how the picture is drawn.
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest && event.target.closest('a[href^="/"]:not([download])');
      if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const url = new URL(link.href);
      const here = query();
      const kept = url.searchParams.get("file") === here.get("file") ? [...KEPT, ...KEPT_IN_FILE] : KEPT;
      for (const name of kept) {
        if (here.has(name) && !url.searchParams.has(name)) url.searchParams.set(name, here.get(name));
      }
      // Another kernel shows the access that stands at the same place, or is written alike.
      const { place } = window.smemviz;
      if (place && link.closest(`#${ids.KERNELS}`) && url.pathname === window.location.pathname) url.searchParams.set("at", place);
      event.preventDefault();
      event.stopPropagation();
      visit(url.pathname + url.search + url.hash, false);
      if (url.searchParams.get("file") !== here.get("file")) window.scrollTo(0, 0);
    },
    true,
  );

  // Another language is another document; all else in the URL stays.
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="?lang="]');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const next = query();
    next.set("lang", link.lang);
    window.location.assign(`${window.location.pathname}?${next}${window.location.hash}`);
  });

  // A button that copies says so, and then what it said before.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest && event.target.closest("button[data-code]");
    if (!button || button.dataset.said) return;
    button.dataset.said = button.textContent;
    const copied = await navigator.clipboard.writeText(button.dataset.code).then(() => true, () => false);
    button.textContent = copied ? gettext("Copied") : gettext("Not allowed");
    window.setTimeout(() => {
      button.textContent = button.dataset.said;
      delete button.dataset.said;
    }, 1500);
  });

  // The gallery's lanes go along a row or down a column.
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-way]");
    if (!button) return;
    button.closest(".strip").dataset.way = button.dataset.way;
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
  });
})();
