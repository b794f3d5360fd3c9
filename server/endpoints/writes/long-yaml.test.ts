/** Long bodies that come as YAML: what is JSON, and what a worker has read, is parsed in turns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BODY_LIMITS } from "../../codec/body-values.js";
import { YamlReader } from "../../codec/yaml-reader.js";
import { readYaml } from "./request-body.js";

const labels = Object.fromEntries(Array.from({ length: 15_000 }, (_, at) => [`k${at}`, `${at}`]));
const JSON_TEXT = JSON.stringify({ labels, big: 1 }).replace(":1}", ":9223372036854775807}");
const YAML_TEXT = `labels: ${JSON.stringify(labels)}\nbig: 9223372036854775807\n`;

/** Reads the text, and counts the turns. */
async function read(text: string) {
  let turns = 0;
  const pause = async () => {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const asked: string[] = [];
  const reader = new YamlReader();
  const yaml = {
    read(given: string) {
      asked.push(given);
      return reader.read(given);
    },
  };
  const { value, ...repeated } = await readYaml(yaml, text, (why) => why, {
    limits: BODY_LIMITS,
    pause,
  });
  return { value, repeated, turns, asked: asked.length };
}

const VALUE = { labels, big: 9223372036854775807n };

test("39.3: a long body of JSON that is called YAML is parsed in turns, by no worker", async () => {
  const { value, repeated, turns, asked } = await read(JSON_TEXT);
  assert.deepEqual(value, VALUE);
  assert.deepEqual(repeated, { duplicateFields: [], repeatedKeys: [] });
  assert.ok(turns > 1 && asked === 0, `${turns} turns, ${asked} for a worker`);
});

test("39.3: what a worker has read is parsed in turns", async () => {
  const { value, turns, asked } = await read(YAML_TEXT);
  assert.deepEqual(value, VALUE);
  assert.ok(turns > 1 && asked === 1, `${turns} turns, ${asked} for a worker`);
});

test("39.3, S1-FV-04: keys that long JSON repeats are found by a worker, with their lines", async () => {
  const { value, repeated, asked } = await read(JSON_TEXT.replace(/\}$/, ',\n"big":3}'));
  assert.deepEqual(value, { labels, big: 3 });
  assert.deepEqual(repeated.repeatedKeys, ['line 2: key "big" already set in map']);
  assert.equal(asked, 1);
});

test("39.2: a long body with too many members is refused before it is parsed", async () => {
  const many = JSON.stringify(Array.from({ length: 70_000 }, () => 1));
  await assert.rejects(read(`{"a":${many}}`), /more than 60000 values/);
});
