// What scripts say, in the document's language, and the language they ask the server for. It stands in the page itself,
// before every other script; the server puts the translations into #messages.
(function () {
  "use strict";

  const messages = JSON.parse(document.getElementById("messages").textContent);

  // Return a message with values in place of its {names}.
  window.gettext = (message, values = {}) =>
    (messages[message] || message).replace(/\{(\w+)\}/g, (_, name) => values[name]);

  const fetch = window.fetch;
  window.fetch = (resource, options = {}) => {
    const headers = new Headers(options.headers);
    headers.set("Accept-Language", document.documentElement.lang);
    return fetch(resource, { ...options, headers });
  };
})();
