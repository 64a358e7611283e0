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

  async function again(resource, options) {
    for (let tries = 1; ; tries += 1) {
      let answer = null;
      try {
        answer = await plain(resource, options);
        if (!LATER.includes(answer.status) || tries === TRIES) return answer;
      } catch (error) {
        if (error.name === "AbortError" || tries === TRIES) throw error;
      }
      await pause(wait(tries, answer));
    }
  }

  window.fetch = (resource, options) => {
    const isQuestion = String(resource.url || resource).endsWith(window.smemviz.names.callbacks);
    return isQuestion ? again(resource, options) : plain(resource, options);
  };
})();
