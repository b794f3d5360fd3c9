import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogLevel, Verbosity } from "./verbosity.js";

test("verbosity 3 logs requests, 4 debug messages, and going back restores what flags say", () => {
  const cases: readonly [
    configured: LogLevel,
    value: number,
    level: LogLevel,
    requests: boolean,
  ][] = [
    ["info", 0, "info", false],
    ["info", 3, "info", true],
    ["info", 4, "debug", true],
    ["error", 2, "error", false],
    ["error", 3, "info", true],
    ["warn", 10, "debug", true],
    ["debug", 0, "debug", true],
  ];
  for (const [configured, value, level, requests] of cases) {
    const levels: LogLevel[] = [];
    const verbosity = new Verbosity(configured, (each) => levels.push(each));
    verbosity.value = value;
    assert.deepEqual([levels.at(-1), verbosity.logsRequests], [level, requests]);
    verbosity.value = 0;
    assert.deepEqual([levels.at(-1), verbosity.logsRequests], [configured, configured === "debug"]);
  }
});
