/** What other servers keep of a namespace: one that does not answer is asked for one of its resources, and given up for now. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { RemoteContent, type RemoteContentParts } from "./remote-content.js";

/** A server with two kinds of objects, and what it answers. */
function contentOf(verbs: readonly string[], request: (asked: Asked) => Promise<object>) {
  const facts = ["notes", "books"].map((resource) => ({
    ...{ group: "example.com", version: "v1", resource, subresource: "", namespaced: true },
    verbs,
  }));
  return new RemoteContent({
    services: { all: [{ service: { group: "example.com", version: "v1" } }] },
    servers: { of: () => ({ pool: () => ({ request }) }) },
    documents: { async refresh() {}, of: () => ({ served: { facts } }) },
    naming: createNaming(DEFAULT_VENDOR),
    timeoutMs: 20,
  } as unknown as RemoteContentParts);
}

test("S1-GEN-19: objects that are too large together are listed by fewer, and deleted", async () => {
  const left = new Set(["x", "y", "z"]);
  const request = async ({ path, method }: Asked) => {
    const { pathname, searchParams } = new URL(path, "https://server");
    if (method === "DELETE") {
      left.delete(pathname.slice(pathname.lastIndexOf("/") + 1));
      return { statusCode: 200, body: [] };
    }
    const names = pathname.endsWith("/notes")
      ? [...left].slice(0, Number(searchParams.get("limit")))
      : [];
    const items = names.map((name) => `{"metadata":{"name":"${name}"},"spec":[${VALUES}]}`);
    return { statusCode: 200, body: [Buffer.from(`{"metadata":{},"items":[${items}]}`)] };
  };
  const content = contentOf(["delete", "list"], request);
  const signal = new AbortController().signal;
  assert.deepEqual((await content.sweep("a", signal)).failures, []);
  assert.deepEqual([...left], ["z"], "the next sweep takes the others");
});

test("S1-GEN-19: a server that hangs costs one deadline, however many resources and objects it has", async () => {
  const asked: string[] = [];
  const request = async ({ path, method, signal }: Asked) => {
    asked.push(`${method} ${path}`);
    // Without a deadline of its own for each request: the first one answers, the second one hangs.
    if (method === "GET") return { statusCode: 200, body: [Buffer.from(LIST)] };
    await once(signal, "abort");
    throw new Error("no answer");
  };
  const content = contentOf(["delete", "list"], request);
  const alive = setInterval(() => {}, 1_000);
  const left = await content.sweep("a", new AbortController().signal);
  clearInterval(alive);
  const path = "/apis/example.com/v1/namespaces/a/notes";
  assert.deepEqual(asked, [`GET ${path}?limit=500`, `DELETE ${path}/x`]);
  assert.deepEqual(left.failures, ["notes.example.com: no answer"]);
});

interface Asked {
  readonly path: string;
  readonly method: string;
  readonly signal: AbortSignal;
}

/** Of two objects with them an answer may be, of three not. */
const VALUES = Array(100_000).fill(0).join();

const LIST = '{"metadata":{},"items":[{"metadata":{"name":"x"}},{"metadata":{"name":"y"}}]}';
