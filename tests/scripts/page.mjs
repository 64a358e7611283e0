// A page as far as scripts need one: where it is, what is written into it for them, and what is said or asked.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const ASSETS = new URL("../../assets/", import.meta.url);

export function page({ at = "http://here/", texts = {}, ...more } = {}) {
  const said = [];
  const element = (name) => ({ name, setAttribute() {} });
  const window = {
    document: {
      documentElement: { lang: "en" },
      getElementById: (id) => ({ textContent: JSON.stringify(texts[id] ?? {}) }),
      createElement: element,
      body: { appendChild: (one) => (said.push(one), one) },
      addEventListener() {},
    },
    addEventListener() {},
    dispatchEvent() {},
    CustomEvent: class {},
    location: new URL(at),
    gettext: (message, values = {}) => message.replace(/\{(\w+)\}/g, (_, name) => values[name]),
    setTimeout: (then) => then(),
    clearTimeout() {},
    performance,
    Headers,
    URL,
    URLSearchParams,
    visited: [],
    said,
    ...more,
  };
  const visit = (way) => (_state, _title, to) => {
    window.visited.push([way, to]);
    window.location = new URL(to, window.location);
  };
  window.history = { pushState: visit("push"), replaceState: visit("replace") };
  window.window = window;
  vm.createContext(window);
  return Object.assign(window, {
    load(...names) {
      for (const name of names) vm.runInContext(readFileSync(new URL(name, ASSETS), "utf-8"), window, { filename: name });
      return window;
    },
  });
}

// Of another realm, whose arrays and objects are none of this one.
export const plain = (value) => JSON.parse(JSON.stringify(value));
