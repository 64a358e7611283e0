// What all pages share: their address, and questions to a server that is busy.
import assert from "node:assert/strict";
import test from "node:test";

import { page } from "./page.mjs";

const NAMES = { ids: {}, constant: "^[A-Z]", editor: "/editor", callbacks: "/ask", pages: [{ path: "/learn", below: true }, { path: "/" }] };
const opened = (at, more) => page({ at, texts: { names: NAMES }, ...more }).load("base.js");

test("a name that is set stands in the query, and one without a value does not", () => {
  const window = opened("http://here/kernel?file=square&IPAD=1#code");
  window.smemviz.go({ IPAD: null, site: 2, warp: "" });
  assert.deepEqual(window.visited, [["push", "/kernel?file=square&site=2"]]);
  window.smemviz.go({ site: 3 }, true);
  assert.deepEqual(window.visited[1], ["replace", "/kernel?file=square&site=3"]);
});

test("where nothing changes no step is left for Back", () => {
  const window = opened("http://here/kernel?file=square");
  window.smemviz.go({ file: "square", site: null });
  assert.deepEqual(window.visited, []);
});

test("the text of the editor stays behind its link", () => {
  const window = opened("http://here/editor?N=1#code=abc");
  window.smemviz.go({ N: 2 });
  assert.equal(window.visited[0][1], "/editor?N=2#code=abc");
});

test("a page is found by its path, and those below it where it has some", () => {
  const { pageAt, isConstant } = opened("http://here/").smemviz;
  assert.deepEqual(["/learn", "/learn/banks", "/", "/learned"].map((path) => pageAt(path)?.path), ["/learn", "/learn", "/", undefined]);
  assert.deepEqual([isConstant("IPAD"), isConstant("site")], [true, false]);
});

async function asked(statuses, path = "/ask") {
  const answers = [...statuses];
  let asks = 0;
  const fetch = async () => ((asks += 1), { status: answers.length > 1 ? answers.shift() : answers[0], headers: new Headers({ "Retry-After": "3" }) });
  const window = opened("http://here/", { fetch }).load("again.js");
  window.smemviz.ahead = (_question, fetched) => fetched();
  const { status } = await window.fetch(path, { body: "{}" });
  return { status, asks, said: window.said.at(-1)?.textContent };
}

test("a question that a server is too busy for is asked again, ten times at most", async () => {
  assert.deepEqual(await asked([503, 429, 200]), { status: 200, asks: 3, said: "" });
  assert.deepEqual(await asked([503]), { status: 503, asks: 10, said: "The server is busy. Try again in a minute." });
});

test("what is refused for another reason, or is no question of a page, is asked once", async () => {
  assert.deepEqual(await asked([404, 200]), { status: 404, asks: 1, said: undefined });
  assert.deepEqual(await asked([503, 200], "/assets/base.js"), { status: 503, asks: 1, said: undefined });
});
