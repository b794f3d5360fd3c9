/**
 * How a definition ends: its objects go first, which watches tell, whether or not any version is served, and
 * whoever still holds the definition sees in it that they are gone.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ANYTHING, definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually, soon } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION = `${DEFINITIONS}/boats.example.com`;
const BOATS = "/apis/example.com/v1/namespaces/default/boats";
const boats = definitionOf("boats.example.com", "Boat", { versions: [versionOf(ANYTHING)] });
const definition = (finalizers: readonly string[] = []) => ({
  ...boats,
  metadata: { ...boats.metadata, finalizers },
});
const boat = { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "a" } };

describe("endings of definitions", () => {
  let server: ServerProcess;
  let client: HttpsClient;

  before(async () => {
    server = await startServer({ flags: ["--run-controllers"] });
    client = server.client;
    await eventually("the default namespace is there", async () => {
      return (await client.get("/api/v1/namespaces/default")).status === 200;
    });
  });
  after(() => server?.[Symbol.asyncDispose]());

  const isGone = () =>
    eventually("the definition is gone", async () => (await client.get(DEFINITION)).status === 404);
  const patch = async (body: object) => {
    const headers = { "content-type": "application/merge-patch+json" };
    const sent = { method: "PATCH", headers, body: JSON.stringify(body) };
    return (await client.request(DEFINITION, sent)).expect(200);
  };

  test("D7: a watch is told of every object that goes with its definition", async () => {
    (await client.post(DEFINITIONS, definition())).expect(201);
    (await client.post(BOATS, boat)).expect(201);
    const told: string[] = [];
    const events = await client.watch(`${BOATS}?watch=1`, soon());
    (await client.delete(DEFINITION)).expect(200);
    for await (const { type, object } of events) told.push(`${type} ${object.metadata.name}`);
    assert.deepEqual(told, ["ADDED a", "DELETED a"]);
    await isGone();
  });

  test("D8: a definition without a served version goes, and its objects with it", async () => {
    (await client.post(DEFINITIONS, definition())).expect(201);
    (await client.post(BOATS, boat)).expect(201);
    const [version] = definition().spec.versions;
    await patch({ spec: { versions: [{ ...version, served: false }] } });
    (await client.get(BOATS)).expect(404);
    (await client.delete(DEFINITION)).expect(200);
    await isGone();
    (await client.post(DEFINITIONS, definition())).expect(201);
    assert.deepEqual((await client.get(BOATS)).expect(200).items, []);
    (await client.delete(DEFINITION)).expect(200);
    await isGone();
  });

  test("D22: a definition that somebody holds says that its objects are gone", async () => {
    (await client.post(DEFINITIONS, definition(["example.com/mine"]))).expect(201);
    (await client.post(BOATS, boat)).expect(201);
    (await client.delete(DEFINITION)).expect(200);
    await eventually("the condition says so", async () => {
      const { metadata, status } = (await client.get(DEFINITION)).expect(200).object;
      const { conditions = [] } = status as { conditions?: { type: string; reason: string }[] };
      const ending = conditions.find(({ type }) => type === "Terminating");
      const isHeld = metadata.finalizers?.join() === "example.com/mine";
      return isHeld && ending?.reason === "InstanceDeletionCompleted";
    });
    (await client.post(BOATS, boat)).expect(403);
    const { object } = (await client.get("/apis/example.com/v1")).expect(200);
    const [shown] = object.resources as { verbs: string[] }[];
    assert.deepEqual(shown?.verbs, ["delete", "deletecollection", "get", "list", "watch"]);
    await patch({ metadata: { finalizers: [] } });
    await isGone();
  });

  test("S1-META-18: whatever a status says, a definition that goes takes no objects but its own", async () => {
    const versions = [versionOf(ANYTHING)];
    const definitions = [
      definitionOf("apples.example.com", "Apple", { versions }),
      definitionOf("pears.example.com", "Pear", { versions }),
    ];
    for (const one of definitions) (await client.post(DEFINITIONS, one)).expect(201);
    const pears = "/apis/example.com/v1/namespaces/default/pears";
    const apples = "/apis/example.com/v1/namespaces/default/apples";
    const made = (kind: string) => ({ ...boat, kind });
    (await client.post(pears, made("Pear"))).expect(201);
    (await client.post(apples, made("Apple"))).expect(201);
    const names = { plural: "pears", kind: "Pear" };
    const conditions = [{ type: "Established", status: "False", reason: "x", message: "x" }];
    const written = await client.request(`${DEFINITIONS}/apples.example.com/status`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ status: { acceptedNames: names, conditions } }),
    });
    const { status } = written.expect(200).object as {
      status?: { acceptedNames?: { plural: string } };
    };
    assert.equal(status?.acceptedNames?.plural, "apples");
    (await client.get(`${apples}/a`)).expect(200);
    (await client.delete(`${DEFINITIONS}/apples.example.com`)).expect(200);
    await eventually("the definition is gone", async () => {
      return (await client.get(`${DEFINITIONS}/apples.example.com`)).status === 404;
    });
    (await client.get(`${pears}/a`)).expect(200);
    const [again] = definitions;
    assert.ok(again);
    (await client.post(DEFINITIONS, again)).expect(201);
    assert.deepEqual((await client.get(apples)).expect(200).items, [], "its own went");
  });

  test("S1-META-18: a kind of the clients' own that is called events is collected as any other", async () => {
    const versions = [versionOf(ANYTHING)];
    (
      await client.post(DEFINITIONS, definitionOf("events.example.com", "Event", { versions }))
    ).expect(201);
    const path = "/apis/example.com/v1/namespaces/default/events";
    const uid = "00000000-0000-0000-0000-000000000000";
    const lost = [{ apiVersion: "v1", kind: "ConfigMap", name: "never-there", uid }];
    const made = (name: string, ownerReferences: readonly object[] = []) => ({
      ...{ apiVersion: "example.com/v1", kind: "Event" },
      metadata: { name, ownerReferences },
    });
    (await client.post(path, made("lost", lost))).expect(201);
    (await client.post(path, made("alone"))).expect(201);
    (await client.delete(`${path}/alone?propagationPolicy=Foreground`)).expect(200);
    for (const name of ["lost", "alone"]) {
      await eventually(`${name} is gone`, async () => {
        return (await client.get(`${path}/${name}`)).status === 404;
      });
    }
  });
});
