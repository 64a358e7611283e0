// What the kernel page asks before Dash does, and which answers it draws.
import assert from "node:assert/strict";
import test from "node:test";

import { page, plain } from "./page.mjs";

const QUESTION = {
  output: "..played.data..",
  outputs: [{ id: "played", property: "data" }],
  inputs: [{ id: "run", property: "data" }, { id: "look", property: "data" }, { id: "version", property: "data" }],
  state: [{ id: "shown-run", property: "data" }],
};
const NAMES = { ids: { TILE: "tile" }, constant: "^[A-Z]", callbacks: "/ask", question: QUESTION, pages: [] };
const SHOWN = { place: { path: "/kernel" }, run: { N: "0" }, look: {}, "shown-run": { title: "k" } };

// A page that shows N = 0; `answers` are given by hand, in the order in which they are asked for.
function opened() {
  const listening = {};
  const asked = [];
  const fetch = (_resource, { body }) => window.smemviz.ahead(body, () => new Promise((answer) => asked.push({ body, answer })));
  const window = page({
    texts: { names: NAMES },
    fetch,
    addEventListener: (name, heard) => (listening[name] = heard),
    requestAnimationFrame: (then) => then(),
    dash_component_api: { getLayout: (id) => id in SHOWN && { props: { data: SHOWN[id] } } },
  }).load("base.js");
  const drawn = [];
  window.dash_clientside.smemviz_playback = { show: (played) => drawn.push(played) };
  window.smemviz.stores = () => ({ place: SHOWN.place, run: { N: window.wanted }, look: {} });
  window.load("early.js");
  const go = (wanted) => ((window.wanted = wanted), listening[window.smemviz.MOVED]());
  const of = (data) => ({ status: 200, json: async () => ({ response: { played: { data }, present: { data: {} } } }) });
  return { window, asked, drawn, go, of };
}
const settled = () => new Promise((done) => setTimeout(done));

test("a change of the URL is asked for at once, as Dash will ask, and Dash gets that answer", async () => {
  const { window, asked, drawn, go, of } = opened();
  go("1");
  assert.equal(asked.length, 1);
  assert.deepEqual(plain(JSON.parse(asked[0].body)), {
    ...QUESTION,
    inputs: [{ ...QUESTION.inputs[0], value: { N: "1" } }, { ...QUESTION.inputs[1], value: {} }, QUESTION.inputs[2]],
    changedPropIds: ["run.data"],
    parsedChangedPropsIds: ["run.data"],
    state: [{ ...QUESTION.state[0], value: { title: "k" } }],
  });
  const answer = window.fetch("/ask", { body: asked[0].body });
  assert.equal(asked.length, 1);
  asked[0].answer(of("one"));
  assert.equal((await (await answer).json()).response.played.data, "one");
  assert.deepEqual(drawn, ["one"]);
});

test("where nothing changes, or another page comes, nothing is asked", () => {
  const { window, asked, go } = opened();
  go("0");
  window.smemviz.stores = () => ({ place: { path: "/learn" }, run: { N: "1" }, look: {} });
  go("1");
  assert.deepEqual(asked, []);
});

test("what Dash asks otherwise is asked as it says, and an answer that is too late is not drawn", async () => {
  const { window, asked, drawn, go, of } = opened();
  go("1");
  const other = asked[0].body.replace('"N":"1"', '"N":"2"');
  window.fetch("/ask", { body: other });
  assert.equal(asked[1].body, other);
  asked[1].answer(of("two"));
  asked[0].answer(of("one"));
  await settled();
  assert.deepEqual(drawn, ["two"]);
});
