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

/** A ConfigMap of about `bytes` bytes of JSON. */
export function configMap(name: string, bytes: number, more: object = {}): string {
  const object = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name },
    data: { payload: "", ...more },
  };
  const missing = bytes - JSON.stringify(object).length;
  object.data.payload = "x".repeat(Math.max(0, missing));
  return JSON.stringify(object);
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
