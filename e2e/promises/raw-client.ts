/**
 * Clients that cost little: keep-alive connections that send ready bytes and look at nothing but what
 * is measured. They share the machine with the server, so their own cost is part of the result.
 */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { ServerProcess } from "../harness/server-process.js";

export async function openSocket({ port, credentials }: ServerProcess): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    servername: "localhost",
    ALPNProtocols: ["http/1.1"],
    ...credentials,
  });
  await once(socket, "secureConnect");
  return socket;
}

export function requestBytes(method: string, path: string, type = "", body = ""): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: localhost",
    ...(type === "" ? [] : [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Sends one request and waits for the end of its answer, which has a Content-Length. */
export function exchange(socket: TLSSocket, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    let needed = Number.POSITIVE_INFINITY;
    const onData = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      if (needed === Number.POSITIVE_INFINITY) {
        const end = received.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = received.toString("latin1", 0, end);
        const length = /content-length: (\d+)/i.exec(head)?.[1];
        if (length === undefined) return finish(new Error(`no length in ${head}`));
        needed = end + 4 + Number(length);
      }
      if (received.length >= needed) finish();
    };
    const finish = (error?: Error) => {
      socket.off("data", onData);
      if (error === undefined) resolve(received);
      else reject(error);
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/**
 * A ConfigMap of about `bytes` bytes of JSON. Its text is a file of settings, the same for the same name: one
 * letter over and over would be compressed to nothing, and be read and written without an escape.
 */
export function configMap(name: string, bytes: number, more: object = {}): string {
  const object = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name, labels: { app: "bench" } },
    data: { settings: "", ...more },
  };
  const missing = Math.max(0, bytes - JSON.stringify(object).length);
  const next = numbersOf(name);
  const lines = Array.from({ length: Math.floor(missing / SETTING_BYTES) }, () => setting(next));
  object.data.settings = lines.join("") + "x".repeat(missing % SETTING_BYTES);
  return JSON.stringify(object);
}

/** Of one setting in JSON, its line end as an escape. */
const SETTING_BYTES = 26;

const setting = (next: () => string) => `key-${next().slice(4)}=${next()}${next().slice(1)}\n`;

/** Eight hexadecimal digits at a time, pseudo-random (mulberry32). */
function numbersOf(name: string): () => string {
  let state = [...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0).toString(16).padStart(8, "0");
  };
}

/** Creates the ConfigMaps with the numbers `from` up to `to` over several connections. */
export async function fill(
  server: ServerProcess,
  { from = 0, to, bytes = 1024 }: { from?: number; to: number; bytes?: number },
): Promise<void> {
  let next = from;
  const worker = async () => {
    const socket = await openSocket(server);
    while (next < to) {
      const name = `item-${String(next++).padStart(6, "0")}`;
      const body = configMap(name, bytes);
      const answer = await exchange(
        socket,
        requestBytes("POST", CONFIG_MAPS, "application/json", body),
      );
      const status = answer.toString("latin1", 9, 12);
      if (status !== "201") throw new Error(`create answered ${answer.toString().slice(0, 500)}`);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}
