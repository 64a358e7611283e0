// A question to the server that got no answer, or the answer to come back later, is asked again: a process of the server
// may end or be replaced, and each question says all that another one needs to know.
(function () {
  "use strict";

  const LATER = [429, 502, 503, 504];
  const TRIES = 10; // in about a minute, in which a server starts again
  const MOST = 10; // seconds between two tries
  const plain = window.fetch.bind(window);
  const pause = (seconds) => new Promise((resolve) => window.setTimeout(resolve, 1000 * seconds));

  // Who were turned away together do not come back together.
  function wait(tries, answer) {
    const told = Number(answer && answer.headers.get("Retry-After"));
    return told ? told + Math.random() : Math.min(0.25 * 2 ** tries, MOST) * (0.5 + Math.random() / 2);
  }

  // Why the page stands still, for whoever looks at it.
  let notice = null;
  function say(text) {
    notice = notice || document.body.appendChild(document.createElement("p"));
    Object.assign(notice, { id: "asked-again", textContent: text, hidden: !text });
    notice.setAttribute("role", "status");
  }

  async function again(resource, options) {
    for (let tries = 1; ; tries += 1) {
      let answer = null;
      try {
        answer = await plain(resource, options);
        if (!LATER.includes(answer.status)) {
          if (tries > 1) say("");
          return answer;
        }
      } catch (error) {
        if (error.name === "AbortError") throw error;
        if (tries === TRIES) {
          say(gettext("The server does not answer. Try again in a minute."));
          throw error;
        }
      }
      if (tries === TRIES) {
        say(gettext("The server is busy. Try again in a minute."));
        return answer;
      }
      const seconds = wait(tries, answer);
      if (answer && answer.status === 429) {
        say(gettext("The server is busy. This page asks again in {seconds} s.", { seconds: Math.ceil(seconds) }));
      }
      await pause(seconds);
    }
  }

  window.fetch = (resource, options) => {
    const { pathname } = new URL(resource.url || resource, window.location.href);
    if (pathname !== window.smemviz.names.callbacks) return plain(resource, options);
    return window.smemviz.ahead(options.body, () => again(resource, options));
  };
})();
