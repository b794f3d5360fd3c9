/** YAML that is not short is read by worker threads (H7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../schema/parse-json.js";
import { parseYaml, YamlSyntaxError } from "./yaml.js";
import { type YamlAsJson, YamlBusyError, YamlReader } from "./yaml-reader.js";

const lines = (count: number) =>
  Array.from({ length: count }, (_, at) => `k${at}: ${at === 7 ? "9223372036854775807" : "v"}\n`);
const LONG = lines(1_000).join("");

test("H7: a long text is read by a worker, and means the same", async () => {
  const reader = new YamlReader();
  const reading = reader.read(`${LONG}k1: again\n`);
  assert.ok(reading instanceof Promise);
  assert.equal(reader.workers, 1);
  const { json, ...repeated } = await reading;
  assert.deepEqual({ ...repeated, value: parseJson(json) }, parseYaml(`${LONG}k1: again\n`));
  await assert.rejects(async () => await reader.read(`${LONG}k: [`), YamlSyntaxError);
  assert.equal(reader.workers, 1, "a mistake of a client ends no worker");
});

test("a short text, and JSON, is read at once", () => {
  const reader = new YamlReader();
  assert.deepEqual(reader.read("a: 1\n"), parseYaml("a: 1\n"));
  const json = JSON.stringify({ a: "x".repeat(60_000) });
  assert.deepEqual(reader.read(json), parseYaml(json));
  assert.equal(reader.workers, 0);
});

test("H7: what only begins like JSON is read by a worker as well", async () => {
  const reader = new YamlReader();
  const reading = reader.read(`{a: ${"[".repeat(300)}${"x, ".repeat(5_000)}${"]".repeat(300)}}`);
  assert.ok(reading instanceof Promise);
  await assert.rejects(reading, /max depth/);
});

test("two at a time are read, more wait, and too many are refused", async () => {
  const reader = new YamlReader();
  const readings = Array.from({ length: 66 }, () => reader.read(LONG));
  assert.deepEqual([reader.workers, reader.waiting], [2, 64]);
  assert.throws(() => reader.read(LONG), YamlBusyError);
  for (const reading of readings) {
    const { json } = (await reading) as YamlAsJson;
    assert.equal(Object.keys(JSON.parse(json)).length, 1_000);
  }
  assert.equal(reader.waiting, 0);
});

test("a text that takes too long ends its worker, and the next one is read", async () => {
  const reader = new YamlReader({ readMsMax: 1 });
  await assert.rejects(async () => await reader.read(lines(100_000).join("")), /takes more than/);
  assert.equal(reader.workers, 0);
});
