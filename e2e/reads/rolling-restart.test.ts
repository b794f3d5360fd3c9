/**
 * Replicas are replaced one after the other while clients watch through a round-robin: nobody has to
 * list again, nobody is told anything twice, and nobody misses anything.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { startEtcd } from "../tools/etcd.js";
import { revisionOf, toConfigMap, toVersions } from "./history.js";
import { Reflector } from "./reflector.js";

const PATH = "/api/v1/namespaces/default/configmaps";
const REPLICAS = 3;
const REFLECTORS = 6;
const WRITERS = 4;

test("S1-WATCH-10, S1-WATCH-27, CARD-01: a rolling restart costs 0 relists, and loses and repeats 0 events", async (t) => {
  await using etcd = await startEtcd();
  const options = { etcdEndpoints: [etcd.endpoint], flags: ["--run-controllers=false"] };
  const replicas: ServerProcess[] = await Promise.all(
    Array.from({ length: REPLICAS }, () => startServer(options)),
  );
  await using _cleanUp = {
    async [Symbol.asyncDispose]() {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    },
  };
  let turn = 0;
  const next = (): HttpsClient => (replicas[turn++ % replicas.length] as ServerProcess).client;
  for (let i = 0; i < 50; i++) {
    (await next().post(PATH, toConfigMap(`o-${i}`))).expect(201);
  }
  const reflectors = Array.from(
    { length: REFLECTORS },
    (_, index) => new Reflector({ path: PATH, next, isStreaming: index % 2 === 0 }),
  );
  await Promise.all(reflectors.map((reflector) => reflector.start()));
  const writer = startWriter(next);

  for (let index = 0; index < REPLICAS; index++) {
    const old = replicas[index] as ServerProcess;
    const writtenBefore = writer.writes();
    await old.stop();
    replicas[index] = await startServer(options);
    await eventually("writes go on", () => writer.writes() > writtenBefore);
  }
  await writer.stop();

  const { object, items } = (await next().get(PATH)).expect(200);
  const final = toVersions(items).sort();
  for (const reflector of reflectors) {
    await eventually("the reflector has caught up", () => {
      const held = [...reflector.store].map(([name, revision]) => `${name}@${revision}`).sort();
      return JSON.stringify(held) === JSON.stringify(final);
    });
    await reflector.stop();
  }
  const [first] = reflectors as [Reflector];
  // They began at different times, but from the youngest start on they were told the same.
  const shortest = Math.min(...reflectors.map(({ told }) => told.length));
  for (const { told } of reflectors) {
    assert.deepEqual(told.slice(-shortest), first.told.slice(-shortest));
  }
  assert.ok(first.told.length >= writer.writes() / 2);
  const sum = (read: (reflector: Reflector) => number) =>
    reflectors.reduce((total, reflector) => total + read(reflector), 0);
  t.diagnostic(
    `${writer.writes()} writes up to version ${revisionOf(object)}, ${sum((r) => r.watches)} watches, ` +
      `${sum((r) => r.failures)} broken connections, ${sum((r) => r.relists)} relists`,
  );
  assert.equal(
    sum(({ relists }) => relists),
    0,
    "relists",
  );
});

/** Creates, changes and deletes until it is stopped; a replica that goes down is asked again. */
function startWriter(next: () => HttpsClient) {
  let isWriting = true;
  let writes = 0;
  const write = async () => {
    while (isWriting) {
      const name = `o-${writes % 60}`;
      try {
        const isDeletion = writes % 11 === 5;
        const answer = isDeletion
          ? await next().delete(`${PATH}/${name}`)
          : await next().put(`${PATH}/${name}`, toConfigMap(name));
        if (answer.status === 404 && !isDeletion) await next().post(PATH, toConfigMap(name));
        if (answer.status < 500) writes++;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  const writing = Promise.all(Array.from({ length: WRITERS }, write));
  return {
    writes: () => writes,
    async stop() {
      isWriting = false;
      await writing;
    },
  };
}
