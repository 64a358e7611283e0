// What every script of the pages and its tests have to pass: `npm install && npm run lint`.
import globals from "globals";

const rules = {
  eqeqeq: "error",
  "no-dupe-keys": "error",
  "no-shadow-restricted-names": "error",
  "no-undef": "error",
  "no-unreachable": "error",
  "no-unused-vars": ["error", { ignoreRestSiblings: true }],
  "no-var": "error",
  "prefer-const": "error",
};

export default [
  { ignores: ["assets/codemirror/**"] }, // a bundle
  {
    files: ["assets/**/*.js"],
    languageOptions: { sourceType: "script", globals: { ...globals.browser, gettext: "readonly" } },
    rules,
  },
  { files: ["**/*.mjs"], languageOptions: { globals: globals.node }, rules },
];
