/**
 * Readers that ask for large lists and do not read: what their answers hold is bounded, the others are
 * served, and those who stall are cut off at the deadline of their request.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { eventually, within } from "../harness/eventually.js";
import { grantEverybody } from "../harness/grant.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const MIB = 2 ** 20;
const LIMIT = 4 * MIB;
/** The most that a list claims. */
const LIST = 3 * 288 * 1024;
const READERS = 8;
/** Together more than the buffers of a connection take, also compressed. */
const OBJECTS = 18;
const OBJECT_BYTES = 900_000;

describe("readers that ask for much and do not read", () => {
  let server: ServerProcess;

  before(async () => {
    server = await startServer({
      flags: [
        "--run-controllers=false",
        `--answer-memory-bytes=${LIMIT}`,
        // A quarter of it is how long a request waits for memory, and is seen to; stalled lists end with it.
        "--request-timeout=16s",
      ],
    });
    await grantEverybody(server.client, "view");
    const create = async (_: unknown, i: number) => {
      const data = { text: randomBytes((OBJECT_BYTES * 3) / 4).toString("base64") };
      (await server.client.post(MAPS, { metadata: { name: `large-${i}` }, data })).expect(201);
    };
    await Promise.all(Array.from({ length: OBJECTS }, create));
    (await server.client.post(MAPS, { metadata: { name: "small" } })).expect(201);
  });

  after(() => server.stop());

  const FORMS: readonly [string, Readonly<Record<string, string>>, string][] = [
    ["compressed lists", { accept: "application/json", "accept-encoding": "gzip" }, ""],
    ["lists in Protobuf", { accept: "application/vnd.kubernetes.protobuf" }, ""],
    ["pages", {}, "?limit=17"],
    [
      "streaming lists",
      {},
      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    ],
  ];

  for (const [what, headers, query] of FORMS) {
    test(`S1-NEG-16, S1-LIM-06: many readers of ${what} who do not read hold no more than their budget`, async () => {
      using readers = await openReaders(`${MAPS}${query}`, { ...as("mallory"), ...headers });
      const used = await eventually("memory is claimed", async () => {
        const [bytes, waiting] = [await metric("bytes"), await metric("waiting_requests")];
        return waiting > 0 ? bytes : undefined;
      });
      assert.ok(used <= LIMIT / 2 + LIST, `one user holds ${used}`);

      // Others are served meanwhile: lists, what is small, and who is exempt.
      const jane = await server.client.request(`${MAPS}?limit=2`, { headers: as("jane") });
      jane.expect(200);
      (await server.client.request(`${MAPS}/small`, { headers: as("mallory") })).expect(200);
      (await server.client.get(`${MAPS}?limit=2`)).expect(200);

      // Those who wait are told what there is and how long it may take.
      const refused = await within("somebody is refused", readers.firstRefusal);
      assert.match(refused, /^HTTP\/1.1 429 /);
      assert.match(refused, /\r\nRetry-After: [1-9]/i);
      assert.match(
        refused,
        /memory of answers, time-out: \\?"mallory\\?" holds \d\.\d and all together/,
      );
      readers.close();
      await eventually("memory is given back", async () => (await metric("bytes")) === 0);
    });
  }

  test("S1-NEG-16: a reader that stalls gives its seats to others and is cut off at its deadline", async () => {
    using readers = await openReaders(MAPS, as("mallory"), 1);
    await eventually("memory is claimed", async () => (await metric("bytes")) > 0);
    await eventually("the seats are free", async () => (await seatsOf("global-default")) === 0);
    assert.ok((await metric("bytes")) > 0, "the memory is not");
    await eventually("the answer is over", async () => (await metric("bytes")) === 0);
    const [reader] = readers.sockets;
    reader?.resume();
    await once(reader as TLSSocket, "close");
  });

  test("large objects and bodies claim memory too", async () => {
    // One object would fit into the buffers of its connection.
    using readers = await openReaders(`${MAPS}/large-0`, as("mallory"), READERS, OBJECTS);
    const used = await eventually("memory is claimed", async () => {
      return (await metric("waiting_requests")) > 0 ? await metric("bytes") : undefined;
    });
    assert.ok(used <= LIMIT / 2 + 2 * MIB, `one user holds ${used}`);
    readers.close();
    await eventually("memory is given back", async () => (await metric("bytes")) === 0);

    const body = `{"metadata":{"name":"never-sent"},"data":{"a":"`;
    const socket = await openSocket();
    socket.write(
      `POST ${MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n${body}`,
    );
    await eventually("the body is claimed", async () => (await metric("bytes")) === 4 * 500_000);
    socket.destroy();
    await eventually("memory is given back", async () => (await metric("bytes")) === 0);
  });

  async function metric(name: string): Promise<number> {
    const { text } = await server.client.get("/metrics");
    return Number(new RegExp(`^apiserver_answer_memory_${name} (\\d+)$`, "m").exec(text)?.[1]);
  }

  async function seatsOf(level: string): Promise<number> {
    const { text } = await server.client.get("/metrics");
    const pattern = `^apiserver_flowcontrol_current_executing_seats\\{priority_level="${level}".*\\} (\\d+)$`;
    return Number(new RegExp(pattern, "m").exec(text)?.[1]);
  }

  async function openSocket(): Promise<TLSSocket> {
    const options = { host: "127.0.0.1", port: server.port, ...server.credentials };
    const socket = connect({ ...options, ALPNProtocols: ["http/1.1"] });
    await once(socket, "secureConnect");
    return socket;
  }

  /**
   * Each on a connection of its own; they read no more than shows whether they were refused.
   *
   * @param times how often each asks, without waiting for an answer
   */
  async function openReaders(
    path: string,
    headers: Readonly<Record<string, string>>,
    count = READERS,
    times = 1,
  ) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const sockets = await Promise.all(Array.from({ length: count }, openSocket));
    const firstRefusal = new Promise<string>((resolve) => {
      for (const socket of sockets) {
        socket.on("error", () => {});
        socket.once("data", (data: Buffer) => {
          socket.pause();
          if (data.toString("latin1", 9, 12) === "429") resolve(data.toString("latin1"));
        });
      }
    });
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join("")}\r\n`;
    for (const socket of sockets) socket.write(request.repeat(times));
    const close = () => {
      for (const socket of sockets) socket.destroy();
    };
    return { sockets, firstRefusal, close, [Symbol.dispose]: close };
  }
});

function as(user: string): Readonly<Record<string, string>> {
  return { "impersonate-user": user, "impersonate-group": "system:authenticated" };
}
