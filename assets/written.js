// An element whose content comes as HTML, written by the server and escaped there. To Dash it is one component: each one
// that a page has takes time at every change of any.
(function () {
  "use strict";

  const { createElement, useLayoutEffect, useRef } = window.React;
  const FOCUSABLE = "a, button, summary, [tabindex]";

  // What had the focus is written anew: what stands in its place has it then. So does what was open.
  function replace(element, html) {
    const before = [...element.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    const open = [...element.querySelectorAll("details")].map((one) => one.open);
    element.innerHTML = html;
    element.querySelectorAll("details").forEach((one, i) => (one.open = open[i] || one.open));
    const after = before < 0 ? null : element.querySelectorAll(FOCUSABLE)[before];
    if (after) after.focus({ preventScroll: true });
  }

  // Pages are written with the paths they have by themselves; no text looks like a link, for its quotes are escaped.
  const led = (html) => html.replaceAll(' href="/', ` href="${window.smemviz.names.prefix}/`);

  function Written({ tag, html, setProps, ...attributes }) {
    const element = useRef(null);
    const isLoading = window.dash_component_api.useDashContext().useLoading();
    useLayoutEffect(() => replace(element.current, led(html)), [html]);
    return createElement(tag, { ...attributes, ref: element, "data-dash-is-loading": isLoading || undefined });
  }

  window.smemviz_components = { ...window.smemviz_components, Written };
})();
