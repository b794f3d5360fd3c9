/**
 * An API server with nothing but ten thousand ConfigMaps of which some change all the time, for the cost of a page that
 * shows them: a real one would take more CPU than all browsers of the test.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const TYPES = {
  resources: [
    { name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["list", "watch", "get"] },
  ],
};
const COLUMNS = ["Name", "Data", "Age"].map((name) => ({ name, description: "", priority: 0 }));
const TICK_MS = 10;

export class BusyApi implements AsyncDisposable {
  readonly #rows: number;
  readonly #server: Server;
  readonly #watches = new Set<ServerResponse>();
  #version = 1_000_000;

  constructor(rows: number) {
    this.#rows = rows;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sends `count` changes, `perSecond` of them a second; each row's cell then has its number. */
  async change(count: number, perSecond: number): Promise<void> {
    const begun = performance.now();
    for (let sent = 0; sent < count; ) {
      const due = Math.min(count, Math.ceil(((performance.now() - begun) * perSecond) / 1000));
      let lines = "";
      // Rows in sight and all others.
      for (; sent < due; sent++) lines += this.#event((sent * 7) % this.#rows, String(sent));
      for (const watch of this.#watches) watch.write(lines);
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  }

  /** One change, of the first row. */
  changeFirst(cell: string): void {
    for (const watch of this.#watches) watch.write(this.#event(0, cell));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://localhost");
    response.setHeader("content-type", "application/json");
    if (pathname === "/apis") response.end('{"groups":[]}');
    else if (pathname === "/api/v1") response.end(JSON.stringify(TYPES));
    else if (pathname === "/api/v1/namespaces") response.end('{"items":[]}');
    else if (pathname !== "/api/v1/configmaps") response.writeHead(404).end("{}");
    else if (searchParams.has("watch")) this.#open(response);
    else
      response.end(
        this.#page(Number(searchParams.get("limit")), Number(searchParams.get("continue"))),
      );
  }

  #open(response: ServerResponse): void {
    this.#watches.add(response);
    response.on("close", () => this.#watches.delete(response));
    response.flushHeaders();
  }

  #page(limit: number, from: number): string {
    const end = Math.min(this.#rows, from + limit);
    const rows = Array.from({ length: end - from }, (_, at) => this.#row(from + at, "1"));
    const metadata = {
      resourceVersion: "1000000",
      ...(end < this.#rows && { continue: String(end) }),
    };
    return JSON.stringify({ kind: "Table", metadata, columnDefinitions: COLUMNS, rows });
  }

  #event(at: number, cell: string): string {
    const object = { kind: "Table", rows: [this.#row(at, cell)] };
    return `${JSON.stringify({ type: "MODIFIED", object })}\n`;
  }

  #row(at: number, cell: string) {
    const name = `row-${String(at).padStart(5, "0")}`;
    const fields = { "f:data": { ".": {}, "f:a": {} } };
    const metadata = {
      name,
      namespace: "many",
      uid: `0000-${at}`,
      resourceVersion: String(this.#version++),
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "many", part: String(at % 10) },
      managedFields: [{ manager: "somebody", operation: "Update", fieldsV1: fields }],
    };
    return { cells: [name, cell, "5d"], object: { kind: "PartialObjectMetadata", metadata } };
  }
}
