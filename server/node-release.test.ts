import assert from "node:assert/strict";
import { test } from "node:test";
import { refusalOf, warningsAbout } from "./node-release.js";

test("old releases of Node.js are refused or warned about in a sentence, and those that lose certificates as well", () => {
  const said = ["v12.22.9", "v18.20.4", "v20.20.2", "v22.23.3", "v24.20.0", "v24.21.0"].map(
    (version) => [version, refusalOf(version), ...warningsAbout(version)],
  );
  const needs = "this needs Node.js 22 or newer";
  assert.deepEqual(said, [
    [
      "v12.22.9",
      `keelson: ${needs}, and was started by v12.22.9`,
      `${needs} and is not tested with v12.22.9`,
    ],
    [
      "v18.20.4",
      `keelson: ${needs}, and was started by v18.20.4`,
      `${needs} and is not tested with v18.20.4`,
    ],
    ["v20.20.2", undefined, `${needs} and is not tested with v20.20.2`],
    ["v22.23.3", undefined],
    ["v24.20.0", undefined],
    [
      "v24.21.0",
      undefined,
      "Node.js v24.21.0 forgets intermediate certificates of clients: those who need them are not known",
    ],
  ]);
});
