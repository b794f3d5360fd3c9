/** YAML that is not short is read by worker threads (H7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../schema/parse-json.js";
import { parseYaml, YamlSyntaxError } from "./yaml.js";
import { type YamlAsJson, YamlBusyError, YamlReader, YamlWorkers } from "./yaml-reader.js";

const lines = (count: number) =>
  Array.from({ length: count }, (_, at) => `k${at}: ${at === 7 ? "9223372036854775807" : "v"}\n`);
const LONG = lines(1_000).join("");

test("H7: a long text is read by a worker, and means the same", async () => {
  const workers = new YamlWorkers();
  const reader = new YamlReader(workers);
  const reading = reader.read(`${LONG}k1: again\n`);
  assert.ok(reading instanceof Promise);
  assert.equal(workers.workers, 1);
  const { json, ...repeated } = await reading;
  assert.deepEqual({ ...repeated, value: parseJson(json) }, parseYaml(`${LONG}k1: again\n`));
  await assert.rejects(async () => await reader.read(`${LONG}k: [`), YamlSyntaxError);
  assert.equal(workers.workers, 1, "a mistake of a client ends no worker");
});

test("a short text, and JSON, is read at once", () => {
  const workers = new YamlWorkers();
  const reader = new YamlReader(workers);
  assert.deepEqual(reader.read("a: 1\n"), parseYaml("a: 1\n"));
  const json = JSON.stringify({ a: "x".repeat(60_000) });
  assert.deepEqual(reader.read(json), parseYaml(json));
  assert.equal(workers.workers, 0);
});

test("H7: what only begins like JSON is read by a worker as well", async () => {
  const reader = new YamlReader();
  const reading = reader.read(`{a: ${"[".repeat(300)}${"x, ".repeat(5_000)}${"]".repeat(300)}}`);
  assert.ok(reading instanceof Promise);
  await assert.rejects(reading, /max depth/);
});

test("two at a time are read, more wait, and too many are refused", async () => {
  const workers = new YamlWorkers();
  const reader = new YamlReader(workers);
  const readings = Array.from({ length: 66 }, () => reader.read(LONG));
  assert.deepEqual([workers.workers, reader.waiting], [2, 64]);
  assert.throws(() => reader.read(LONG), YamlBusyError);
  for (const reading of readings) {
    const { json } = (await reading) as YamlAsJson;
    assert.equal(Object.keys(JSON.parse(json)).length, 1_000);
  }
  assert.equal(reader.waiting, 0);
});

test("a text that takes too long ends its worker, and the next one is read", async () => {
  const workers = new YamlWorkers({ readMsMax: 1 });
  const reader = new YamlReader(workers);
  await assert.rejects(async () => await reader.read(lines(100_000).join("")), /takes more than/);
  assert.equal(workers.workers, 0);
});

test("44: readers of many control planes have two workers together, and one that sends much does not keep another waiting", async () => {
  const workers = new YamlWorkers();
  const [loud, quiet] = [new YamlReader(workers), new YamlReader(workers)];
  const read: string[] = [];
  const readings = Array.from({ length: 20 }, async () => {
    await loud.read(LONG);
    read.push("loud");
  });
  const last = Promise.resolve(quiet.read(LONG)).then(() => read.push("quiet"));
  assert.equal(workers.workers, 2);
  await last;
  assert.ok(read.indexOf("quiet") <= 3, read.join(" "));
  await Promise.all(readings);
});
