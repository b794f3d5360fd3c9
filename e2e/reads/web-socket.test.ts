/**
 * Watches over WebSockets: the same events as over plain HTTP, one per message, to the same people
 * and nobody else, and nothing that a client does with the connection harms the server.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { eventually } from "../harness/eventually.js";
import { grant } from "../harness/grant.js";
import type { Credentials, WatchEvent } from "../harness/https-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { toConfigMap, toPast, toText } from "./history.js";

const PATH = "/api/v1/namespaces/default/configmaps";
const STREAMING =
  "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

describe("S1-WATCH-26: watches over WebSockets", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServer({ flags: ["--run-controllers=false"] });
    for (const name of ["a", "b"]) (await server.client.post(PATH, toConfigMap(name))).expect(201);
  });
  after(() => server[Symbol.asyncDispose]());

  function open(
    query: string,
    options: {
      protocols?: string[];
      origin?: string;
      headers?: Record<string, string>;
      credentials?: Credentials;
    } = {},
  ): WebSocket {
    const { protocols = [], origin, headers = {}, credentials = server.credentials } = options;
    const url = `${server.url.replace("https", "wss")}${PATH}?${query}`;
    return new WebSocket(url, protocols, {
      ...credentials,
      headers,
      ...(origin === undefined ? {} : { origin }),
    });
  }

  test("S1-WATCH-26: the state, the bookmark that ends it and live events come one per message", async () => {
    const socket = open(STREAMING);
    const messages = gather(socket);
    await eventually("the bookmark comes", () => messages.length === 3);
    (await server.client.post(PATH, toConfigMap("live"))).expect(201);
    await eventually("the live event comes", () => messages.length === 4);
    const events = messages.map(({ data, isBinary }) => {
      assert.equal(isBinary, false);
      return JSON.parse(data.toString()) as WatchEvent;
    });
    const told = events.map((event) => `${event.type} ${toPast(event).name}`);
    assert.deepEqual(told, ["ADDED a", "ADDED b", "BOOKMARK ", "ADDED live"]);
    const annotations = events[2]?.object.metadata.annotations;
    assert.deepEqual(annotations, { "k8s.io/initial-events-end": "true" });
    const plain = await server.client.watch(`${PATH}?watch=1&resourceVersion=0&timeoutSeconds=1`);
    const overHttp: string[] = [];
    for await (const event of plain) overHttp.push(toText(toPast(event)));
    const overSocket = events.filter(({ type }) => type === "ADDED");
    assert.deepEqual(
      overSocket.map((event) => toText(toPast(event))),
      overHttp,
    );
    socket.terminate();
    (await server.client.delete(`${PATH}/live`)).expect(200);
  });

  test("A32: events are text frames of JSON whatever sub-protocol is offered, which is echoed", async () => {
    const cases: [offered: string[], chosen: string][] = [
      [[], ""],
      [["foo.bar"], "foo.bar"],
      [["binary.k8s.io"], "binary.k8s.io"],
      [["base64.binary.k8s.io"], "base64.binary.k8s.io"],
    ];
    for (const [offered, chosen] of cases) {
      const socket = open("watch=1&resourceVersion=0", { protocols: offered });
      const messages = gather(socket);
      await eventually("the state comes", () => messages.length === 2);
      assert.equal(socket.protocol, chosen);
      assert.equal(messages[0]?.isBinary, false);
      const json = messages[0]?.data.toString() ?? "";
      assert.equal((JSON.parse(json) as WatchEvent).object.metadata.name, "a");
      socket.terminate();
    }
  });

  test("NEW-6: a WebSocket of a watch offers one sub-protocol, beside a token that says who it is", async () => {
    const statusOf = async (socket: WebSocket): Promise<number> => {
      const opened = once(socket, "open").then(() => 101);
      const refused = once(socket, "unexpected-response").then(([, { statusCode }]) => statusCode);
      const status = await Promise.race([opened, refused]);
      socket.terminate();
      return status;
    };
    const { ca } = server.credentials;
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    (await server.client.post(accounts, { metadata: { name: "watcher" } })).expect(201);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["watch"] }];
    const to = "ServiceAccount default/watcher";
    await grant(server.client, { name: "watchers", to, rules, namespace: "default" });
    const answer = await server.client.post(`${accounts}/watcher/token`, { spec: {} });
    const { token } = answer.expect(201).object.status as { token: string };
    const asProtocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
    const authorization = `Bearer ${token}`;
    const cases: [protocols: string[], headers: Record<string, string>, status: number][] = [
      [["foo", "bar"], {}, 400],
      [["base64.binary.k8s.io", "binary.k8s.io"], {}, 400],
      [["foo", asProtocol], { authorization }, 400],
      [["foo", asProtocol], {}, 101],
      [["foo"], { authorization }, 101],
    ];
    for (const [protocols, headers, status] of cases) {
      const isToken = headers.authorization !== undefined || protocols.includes(asProtocol);
      const credentials = isToken ? { ca } : server.credentials;
      const socket = open("watch=1", { protocols, headers, credentials });
      socket.on("error", () => {});
      assert.equal(await statusOf(socket), status, protocols.join());
    }
  });

  test("A32, NEW-4: an event in Protobuf is a binary frame without a length before it", async () => {
    const headers = { accept: "application/vnd.kubernetes.protobuf;stream=watch" };
    const socket = open("watch=1&resourceVersion=0", { headers });
    const messages = gather(socket);
    await eventually("the state comes", () => messages.length === 2);
    const [{ data, isBinary } = { data: Buffer.alloc(0), isBinary: false }] = messages;
    assert.equal(isBinary, true);
    // Field 1 of a WatchEvent is its type.
    assert.equal((data as Buffer).subarray(0, 7).toString("latin1"), "\n\x05ADDED");
    socket.terminate();
  });

  test("S1-WATCH-26, S1-WATCH-23: the timeout closes the socket in good order", async () => {
    const socket = open("watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=0");
    const messages = gather(socket);
    const [code] = (await once(socket, "close")) as [number];
    assert.equal(code, 1000);
    const last = JSON.parse(messages.at(-1)?.data.toString() ?? "{}") as WatchEvent;
    assert.equal(last.type, "BOOKMARK");
  });

  test("S1-WATCH-26: strangers are refused before the protocol changes, as on any request", async () => {
    const { ca } = server.credentials;
    const [, answer] = (await once(
      open("watch=1", { credentials: { ca } }),
      "unexpected-response",
    )) as [unknown, { statusCode: number }];
    assert.equal(answer.statusCode, 403);
    const refused = open("watch=1&resourceVersion=abc");
    const [, invalid] = (await once(refused, "unexpected-response")) as [
      unknown,
      { statusCode: number },
    ];
    assert.equal(invalid.statusCode, 400);
  });

  test("S1-WATCH-26: a page of another site cannot use its visitor's certificate", async () => {
    const foreign = open("watch=1", { origin: "https://evil.example" });
    const [, answer] = (await once(foreign, "unexpected-response")) as [
      unknown,
      { statusCode: number },
    ];
    assert.equal(answer.statusCode, 403);
    const own = open("watch=1", { origin: server.url });
    await once(own, "open");
    own.terminate();
  });

  test("S1-WATCH-26: what is no watch, or asks for another protocol, is answered as plain HTTP", async () => {
    const list = await rawRequest(server, [`GET ${PATH} HTTP/1.1`, "Upgrade: websocket"]);
    assert.match(list, /^HTTP\/1\.1 200 /);
    assert.match(list, /"kind":"ConfigMapList"/);
    const other = await rawRequest(server, [`GET ${PATH}/a HTTP/1.1`, "Upgrade: h2c"]);
    assert.match(other, /^HTTP\/1\.1 200 /);
    assert.match(other, /"name":"a"/);
    const post = await rawRequest(server, [`POST ${PATH} HTTP/1.1`, "Upgrade: websocket"]);
    assert.match(post, /^HTTP\/1\.1 4\d\d /);
    const noKey = await rawRequest(server, [`GET ${PATH}?watch=1 HTTP/1.1`, "Upgrade: websocket"]);
    assert.match(noKey, /^HTTP\/1\.1 400 /);
    (await server.client.get("/readyz")).expect(200);
  });

  test("S1-WATCH-26, S1-WATCH-24: a client that floods or does not read is cut off and costs nothing", async () => {
    const flooding = open("watch=1&resourceVersion=0");
    await once(flooding, "open");
    flooding.send("x".repeat(100_000));
    const [code] = (await once(flooding, "close")) as [number];
    assert.equal(code, 1009, "a message that is too big ends the socket");
    const nobodyWatches = async () => (await longRunning(server)) === 0;
    await eventually("it does not count any more", nobodyWatches);
    const leaving = open("watch=1");
    await once(leaving, "open");
    await eventually("it counts", async () => (await longRunning(server)) === 1);
    leaving.terminate();
    await eventually("it does not count any more either", nobodyWatches);
  });

  test("39.2: who pings hundreds of times at once is cut off, though it reads; a hundred pings are answered", async () => {
    const socket = open("watch=1");
    socket.on("error", () => {});
    await once(socket, "open");
    let pongs = 0;
    socket.on("pong", () => pongs++);
    for (let at = 0; at < 100; at++) socket.ping();
    await eventually("all are answered", () => pongs === 100);
    const closed = once(socket, "close");
    for (let at = 0; at < 2_000; at++) socket.ping();
    await closed;
    assert.ok(pongs < 1_000, `${pongs} pongs`);
    const other = open("watch=1");
    await once(other, "open");
    other.terminate();
  });

  test("S1-WATCH-26, S1-WATCH-27: a shutdown closes the sockets and ends in good order", async () => {
    const own = await startServer({ flags: ["--run-controllers=false"] });
    const socket = new WebSocket(`${own.url.replace("https", "wss")}${PATH}?watch=1`, {
      ...own.credentials,
    });
    await once(socket, "open");
    const closed = once(socket, "close") as Promise<[number]>;
    await own.stop();
    assert.equal((await closed)[0], 1000);
    await own[Symbol.asyncDispose]();
  });
});

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

function gather(socket: WebSocket): Message[] {
  const messages: Message[] = [];
  socket.on("message", (data: Buffer, isBinary) => messages.push({ data, isBinary }));
  return messages;
}

async function longRunning(server: ServerProcess): Promise<number> {
  const { text } = (await server.client.get("/metrics")).expect(200);
  const lines = text.split("\n").filter((line) => {
    return line.startsWith("apiserver_longrunning_requests{") && line.includes('"configmaps"');
  });
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function rawRequest(server: ServerProcess, lines: readonly string[]): Promise<string> {
  const socket: TLSSocket = connect({
    host: "127.0.0.1",
    port: server.port,
    ...server.credentials,
    ALPNProtocols: ["http/1.1"],
  });
  socket.write([...lines, "Host: localhost", "Connection: Upgrade", "", ""].join("\r\n"));
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}
