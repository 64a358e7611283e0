// What the kernel page asks the server after a change of the URL: it is asked before Dash gets to it, which takes that some
// 50 ms, and its answer is drawn before Dash has gone through all of it.
(function () {
  "use strict";

  const { ids, names, same, MOVED } = window.smemviz;
  const HEADERS = { Accept: "application/json", "Content-Type": "application/json" };
  const isOpen = () => Boolean(document.getElementById(ids.TILE));
  const shown = (id) => (window.dash_component_api.getLayout(id) || { props: {} }).props.data;

  let asked = ""; // the last question
  let early = null; // a question that Dash has not asked yet, and its answer

  // The question as Dash will write it, "" where another page comes or nothing has changed.
  function question() {
    const { output, outputs, inputs, state } = names.question;
    const stores = window.smemviz.stores();
    if (!isOpen() || !same(stores.place, shown("place"))) return "";
    const filled = (one) => ({ ...one, value: one.id in stores ? stores[one.id] : shown(one.id) });
    const changed = inputs.filter(({ id }) => id in stores && !same(stores[id], shown(id))).map(({ id, property }) => `${id}.${property}`);
    if (!changed.length) return "";
    return JSON.stringify({ output, outputs, inputs: inputs.map(filled), changedPropIds: changed, parsedChangedPropsIds: changed, state: state.map(filled) });
  }

  function ask() {
    const body = question();
    if (!body) return;
    const answer = window.fetch(names.callbacks, { method: "POST", credentials: "same-origin", headers: HEADERS, body });
    early = { body, answer };
  }
  for (const moved of [MOVED, "popstate"]) window.addEventListener(moved, ask);

  // Draw an answer, unless more was asked since.
  async function drawn(body, answering) {
    asked = body;
    const answer = await answering;
    if (answer.status !== 200 || asked !== body || !isOpen()) return answer;
    const said = await answer.json();
    answer.json = async () => said;
    const { played, present } = said.response || {};
    if (played && present) {
      window.dash_clientside.smemviz_playback.show(played.data, present.data);
      await new Promise((done) => window.requestAnimationFrame(() => window.setTimeout(done)));
    }
    return answer;
  }

  // Answer a question of Dash, which `fetched` would bring.
  window.smemviz.ahead = (body, fetched) => {
    if (!isOpen() || !body.includes(`"output":"${names.question.output}"`)) return fetched();
    const before = early;
    early = null;
    return before && before.body === body ? before.answer : drawn(body, fetched());
  };
})();
