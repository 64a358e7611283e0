// What pictures are made of, and one request of a block.
import assert from "node:assert/strict";
import test from "node:test";

import { page, plain } from "./page.mjs";

const RULE = { letter: 0.62, least: 9, most: 13, edges: 4, lines: 1.6, single: 3 };
const { pictures } = page({ texts: { "label-rule": RULE } }).load("pictures/marks.js", "pictures/request.js");

test("lanes are written as ranges, once each and in order", () => {
  assert.equal(pictures.ranges([31, 0, 1, 2, 2, 12, 30]), "0-2, 12, 30-31");
  assert.equal(pictures.ranges([]), "");
  assert.equal(pictures.badge([7]), "L7");
  assert.equal(pictures.badge([0, 2, 4, 6, 31]), "L0…31");
});

test("a label is as large as its cell allows, and several lanes of one cell are left out where they do not fit", () => {
  const cells = (said) => [{ x: 0, y: 0, said, kind: "" }];
  assert.match(pictures.named(cells("L5"), 22, 20), /font-size="13"/);
  assert.match(pictures.named(cells("L31"), 22, 20), /font-size="9\.7"/); // (22 - 4) / (0.62 * 3)
  assert.equal(pictures.named(cells("L31"), 22, 10), "");
  assert.equal(pictures.named([...cells("L5"), ...cells("L0-31")], 22, 20), pictures.named(cells("L5"), 22, 20));
  assert.match(pictures.named([...cells("L5"), ...cells("L0-31")], 60, 20), /L0-31/);
});

test("nothing of a name is taken for markup", () => {
  assert.equal(pictures.escaped('<a href="&">'), "&#60;a href=&#34;&#38;&#34;&#62;");
});

test("axes are numbered in steps that have 22 pixels", () => {
  assert.deepEqual([30, 11, 6, 0.1].map(pictures.step), [1, 2, 4, 64]);
});

test("of a picture of the same size those parts are drawn anew that changed, and what lay over it goes", () => {
  const part = () => ({ innerHTML: "", removed: false, remove() { this.removed = true; } });
  const children = [part(), part(), part()];
  const figure = { set innerHTML(svg) { this.whole = svg; this.firstElementChild = { children }; } };
  pictures.show(figure, pictures.framed(10, 20, ["<a/>", "<b/>"]));
  assert.match(figure.whole, /^<svg viewBox="0 0 10 20".*<g><a\/><\/g><g><b\/><\/g><\/svg>$/);
  figure.whole = "";
  pictures.show(figure, pictures.framed(10, 20, ["<a/>", "<c/>"]));
  assert.deepEqual(children.map(({ innerHTML, removed }) => [innerHTML, removed]), [["", false], ["<c/>", false], ["", true]]);
  assert.equal(figure.whole, "");
  pictures.show(figure, pictures.framed(10, 30, ["<a/>", "<c/>"]));
  assert.match(figure.whole, /30"/);
});

// Two warps store 2 x 2 words of a tile with a pad, then one loads a column of it.
const tile = { name: "tile", address: [1024, 1028, 1036, 1040], size: 4, names: ["tile[0, 0]", "tile[0, 1]", "tile[1, 0]", "tile[1, 1]"] };
const launch = {
  origin: 1024,
  width: 4,
  arrays: [tile],
  globals: [{ name: "a", address: 4096, shape: [2, 3], strides: [4, 8], size: 4, between: ", " }],
  sites: [{ shared: true, array: "tile" }, { shared: false, array: "a" }],
  shapes: [{ lanes: [0, 4, -1] }, { lanes: [0, 12, -1] }],
};
const block = {
  warp: [0, 1, 0],
  step: [0, 0, 1],
  base: [1024, 1036, 1024],
  site: [0, 0, 0],
  shape: [0, 0, 1],
  values: [["5", "6", ""], ["7", "", ""], null],
};
const request = (place, of = block) => new pictures.Request(32, launch, of, place);

test("a request knows its lanes that are on, and their banks", () => {
  const now = request(2);
  assert.deepEqual(plain(now.lanes()), [[0, 1024, 0], [1, 1036, 12]]);
  assert.deepEqual(now.lanes().map(([, address]) => now.bank(address)), [0, 3]);
  assert.equal(now.bank(1024 + 4 * 33), 1);
});

test("a byte is named by the element that it lies in, whatever order the axes have in memory", () => {
  assert.equal(request(0).named(1038), "tile[1, 0]");
  assert.equal(request(0).named(1032), "-"); // the pad
  const outside = request(0, { ...block, site: [1, 1, 1] });
  assert.equal(outside.named(4096 + 8 * 2 + 4), "a[1, 2]");
  assert.equal(outside.named(4096 + 24), "0x1018");
  assert.equal(outside.named(4095), "0xfff");
});

test("shared memory holds what was stored last, also after a step back", () => {
  const values = (place) => [...request(place).contents()].map(([address, { value, warp, lane }]) => [address, value, warp, lane]);
  const first = [[1024, "5", 0, 0], [1028, "6", 0, 1]];
  assert.deepEqual(values(2), [...first, [1036, "7", 1, 0]]);
  assert.deepEqual(values(0), first);
});
