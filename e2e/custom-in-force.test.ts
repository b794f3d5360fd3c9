/**
 * Promise 6, for kinds: a definition that is created, changed or deleted through one replica is in force
 * on every other for the very next request. Two replicas over one etcd; each round defines a kind
 * through one of them and uses it at once through the other, changes it there and back, and deletes
 * it. No waits, no retries. KEELSON_TEST_LONG=1 takes 10,000 rounds.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DEFINITIONS, definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const ROUNDS = isLong ? 10_000 : 60;
/** Rounds under way at once: a replica is never quiet while another round asks it. */
const LANES = 4;

const field = (value: string) => ({ type: "string", default: value });

function definition(plural: string, properties: object): object {
  const spec = { type: "object", default: {}, properties };
  const versions = [versionOf({ type: "object", properties: { spec } })];
  return definitionOf(`${plural}.example.com`, `Kind${plural}`, { scope: "Cluster", versions });
}

describe("definitions across replicas", () => {
  const servers: ServerProcess[] = [];
  let etcd: EtcdProcess | undefined;

  before(async () => {
    etcd = await startEtcd();
    const etcdEndpoints = [etcd.endpoint];
    const flags = ["--run-controllers"];
    servers.push(...(await Promise.all([0, 1].map(() => startServer({ etcdEndpoints, flags })))));
  });
  after(async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    await etcd?.[Symbol.asyncDispose]();
  });

  test("a definition is in force on the other replica for the next request", async () => {
    let next = 0;
    const lane = async () => {
      for (let round = next++; round < ROUNDS; round = next++) {
        const [one, other] = [servers[round % 2], servers[(round + 1) % 2]];
        assert.ok(one !== undefined && other !== undefined);
        await playRound(`things${round}`, one.client, other.client);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  });
});

async function playRound(plural: string, one: HttpsClient, other: HttpsClient): Promise<void> {
  const path = `/apis/example.com/v1/${plural}`;
  const object = (name: string) => ({
    apiVersion: "example.com/v1",
    kind: `Kind${plural}`,
    metadata: { name },
    spec: { old: "sent", added: "sent" },
  });
  const specOf = async (client: HttpsClient, name: string) =>
    (await client.post(path, object(name))).expect(201, `${plural} ${name}`).object.spec;

  (await one.post(DEFINITIONS, definition(plural, { old: field("o") }))).expect(201);
  assert.deepEqual(await specOf(other, "first"), { old: "sent" }, "what is not defined is dropped");
  (await one.get(`${path}/first`)).expect(200);

  const named = `${DEFINITIONS}/${plural}.example.com`;
  const current = (await other.get(named)).expect(200).object;
  const changed = definition(plural, { added: field("a"), more: field("m") }) as { spec: object };
  (await other.put(named, { ...current, spec: changed.spec })).expect(200);
  const expected = { added: "sent", more: "m" };
  assert.deepEqual(await specOf(one, "second"), expected, "judged by the new definition");
  assert.equal((await one.get(path)).expect(200).items.length, 2);

  (await one.delete(named)).expect(200);
  const late = await other.post(path, object("late"));
  // Forbidden while the definition ends, not found behind that.
  assert.ok([403, 404].includes(late.status), `${plural}: ${late.status} ${late.text}`);
  await eventually(`${plural} is gone`, async () => (await other.get(named)).status === 404);
  assert.equal((await one.get(path)).status, 404);
  // Nothing is left for a definition of the same name.
  (await other.post(DEFINITIONS, definition(plural, { old: field("o") }))).expect(201);
  const left = (await one.get(path)).expect(200).items;
  assert.deepEqual(left, [], `${plural}: objects of a definition that is gone`);
  (await one.delete(named)).expect(200);
}
