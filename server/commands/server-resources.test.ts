import assert from "node:assert/strict";
import { test } from "node:test";
import type { HttpsClient } from "../client/https-client.js";
import { keptOf } from "./save-snapshot.js";
import { askServer, listResources, reasonOf, type ServerResource } from "./server-resources.js";

const signal = new AbortController().signal;

/** Answers with these bodies by path. */
function serverOf(answers: Readonly<Record<string, readonly [number, string]>>): HttpsClient {
  const request = async ({ path }: { readonly path: string }) => {
    const [status, body] = answers[path] ?? [404, "404 page not found\n"];
    return { status, body: Buffer.from(body) };
  };
  return { request } as unknown as HttpsClient;
}

test("People 1: a group whose server is away is named, as kube-apiserver refuses it in plain text, and the others are read", async () => {
  const group = (name: string) => ({ name, preferredVersion: { version: "v1" } });
  const client = serverOf({
    "/apis": [200, JSON.stringify({ groups: [group("away.example"), group("there.example")] })],
    "/api/v1": [200, '{"resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":[]}]}'],
    "/apis/away.example/v1": [503, "service unavailable\n"],
    "/apis/there.example/v1": [200, '{"resources":[]}'],
  });
  const failed: string[] = [];
  const found = await listResources(client, signal, (name, why) => failed.push(`${name}: ${why}`));
  assert.deepEqual(failed, ["away.example: service unavailable (503)"]);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["pods"],
  );
});

test("an answer that is neither JSON nor a refusal is none, and a refusal without words says its status", async () => {
  const client = serverOf({ "/x": [200, "<html>"], "/y": [502, "\n"] });
  await assert.rejects(
    askServer(client, { path: "/x" }, signal),
    /200 with something that is no JSON/,
  );
  assert.equal(reasonOf(await askServer(client, { path: "/y" }, signal)), "refused (502)");
});

test("People 1: a snapshot leaves out Events and Leases of the server, and no other kinds of these names", () => {
  const resource = (name: string, group: string, kind = "Any") =>
    ({ name, group, kind, verbs: ["create", "list"] }) as unknown as ServerResource;
  const kept = keptOf([
    ...[resource("events", ""), resource("events", "events.k8s.io"), resource("pods", "")],
    ...[resource("leases", "coordination.k8s.io"), resource("leases", "coordination.example")],
    resource("events", "events.example"),
    { ...resource("selfsubjectreviews", "authentication.k8s.io", "SelfSubjectReview"), verbs: [] },
  ]);
  assert.deepEqual(
    kept.map(({ name, group }) => `${name} ${group}`),
    ["pods ", "leases coordination.example", "events events.example"],
  );
});
