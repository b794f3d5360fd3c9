/**
 * A client that opens a watch and does not read: it is cut off when the log has moved past its place,
 * its memory is bounded meanwhile, and those who read notice nothing.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "node:tls";
import { eventually, within } from "../harness/eventually.js";
import type { WatchEvent } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { eventsUntil, toConfigMap } from "./history.js";

const PATH = "/api/v1/namespaces/default/configmaps";
const HEALTHY = 5;
const WRITES = 120;
const OBJECT_BYTES = 200_000;

test("S1-WATCH-24, S1-LIM-03: a client that does not read is cut off, costs little, and delays nobody", async (t) => {
  await using server = await startServer({
    flags: ["--run-controllers=false", "--watch-cache-history=1s", "--watch-cache-bytes=1Mi"],
  });
  const { client } = server;
  const options = { host: "127.0.0.1", port: server.port, ...server.credentials };
  const stalled = connect({ ...options, ALPNProtocols: ["http/1.1"] });
  await once(stalled, "secureConnect");
  stalled.write(`GET ${PATH}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(stalled, "data");
  stalled.pause();
  // The same over HTTP with one that catches up in time: it must not be cut off.
  const healthy = Array.from({ length: HEALTHY }, () =>
    eventsUntil(client, `${PATH}?watch=1`, "last"),
  );
  await eventually("all watch", async () => (await metric("apiserver_longrunning_requests")) === 6);
  const memoryBefore = await metric("process_resident_memory_bytes");
  const bytes = "x".repeat(OBJECT_BYTES);
  for (let i = 0; i < WRITES; i++) {
    const name = `o-${i % 4}`;
    const body = toConfigMap(name, undefined, bytes);
    const answer =
      i < 4 ? await client.post(PATH, body) : await client.put(`${PATH}/${name}`, body);
    answer.expect(i < 4 ? 201 : 200);
  }
  (await client.post(PATH, toConfigMap("last"))).expect(201);
  for (const events of await Promise.all(healthy)) {
    assert.equal(events.length, WRITES + 1);
    assert.ok(events.every(({ type }) => type === "ADDED" || type === "MODIFIED"));
  }
  await eventually("the watch of the stalled client is over", async () => {
    return (await metric("apiserver_longrunning_requests")) === 0;
  });
  const grownBy = (await metric("process_resident_memory_bytes")) - memoryBefore;
  assert.ok(grownBy < 400e6, `resident memory grew by ${grownBy}`);
  t.diagnostic(`resident memory grew by ${Math.round(grownBy / 1e6)} MB`);
  assert.ok((await metric("apiserver_watch_cache_bytes")) < 5 * 1024 * 1024);

  // What is left in its socket ends without the regular end of the stream, or with a 410.
  let text = "";
  stalled.on("data", (chunk) => {
    text += String(chunk);
  });
  stalled.on("error", () => {});
  stalled.resume();
  await within("the connection is closed", once(stalled, "close"));
  assert.ok(text.length < (WRITES * OBJECT_BYTES) / 2, "it was not sent everything");
  const tail = text.slice(-2_000);
  const isExpired = /"type":"ERROR".*"code":410/.test(tail);
  assert.ok(isExpired || !tail.endsWith("0\r\n\r\n"), "nobody takes it for complete");

  async function metric(name: string): Promise<number> {
    const { text: all } = (await client.get("/metrics")).expect(200);
    const lines = all.split("\n").filter((line) => line.startsWith(name) && !/^#/.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
});

test("S1-WATCH-24, S1-WATCH-10: a client that stops reading for a while goes on where it was", async () => {
  await using server = await startServer({ flags: ["--run-controllers=false"] });
  const { client } = server;
  const watch = await client.watch(`${PATH}?watch=1`);
  const bytes = "x".repeat(OBJECT_BYTES);
  for (let i = 0; i < 60; i++) {
    (await client.post(PATH, toConfigMap(`o-${i}`, undefined, bytes))).expect(201);
  }
  // Nothing has been read so far: the kernel's buffers are full and the cursor stands still.
  const events: WatchEvent[] = [];
  for await (const event of watch) {
    events.push(event);
    if (events.length === 60) break;
  }
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.metadata.name}`),
    Array.from({ length: 60 }, (_, i) => `ADDED o-${i}`),
  );
});
