/** Objects that cannot be read: junk bytes in the store, written behind the server's back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import type { ApiObject, WatchEvent } from "../harness/https-client.js";
import { eventsUntil, revisionOf, toConfigMap } from "./history.js";
import { openRawEtcd } from "./raw-etcd.js";
import { openSubject } from "./subjects.js";

const PATH = "/api/v1/namespaces/default/configmaps";
const KEY = "/registry/core/configmaps/default/b";

test("S1-UNS-11, S1-UNS-12: an object that cannot be read fails the lists that contain it and ends the watches that would tell it, and nothing else", async () => {
  await using subject = await openSubject("three replicas over etcd");
  await using etcd = await openRawEtcd(subject);
  const client = subject.next();
  const labels = { app: "x" };
  const revisions: number[] = [];
  for (const name of ["a", "b", "c"]) {
    const answer = (await client.post(PATH, toConfigMap(name, labels))).expect(201);
    revisions.push(revisionOf(answer.object));
  }
  const start = revisions.at(-1) as number;
  (await client.post("/api/v1/namespaces", toNamespace("elsewhere"))).expect(201);
  const other = "/api/v1/namespaces/elsewhere/configmaps";
  (await client.post(other, toConfigMap("a"))).expect(201);

  const watched = subject.servers.map(({ client: each }) => {
    const queries = ["", "&labelSelector=app%3Dx", "&fieldSelector=metadata.name%3Db"];
    return queries.map((query) =>
      eventsUntil(each, `${PATH}?watch=1&resourceVersion=${start}${query}`, "never"),
    );
  });
  await etcd.put(KEY, '{"kind":"ConfigMap","secret');
  for (const events of await Promise.all(watched.flat())) {
    const last = events.at(-1) as WatchEvent;
    assert.equal(last.type, "ERROR");
    assert.deepEqual([last.object.reason, last.object.code], ["StoreReadError", 500]);
  }

  for (const { client: each } of subject.servers) {
    for (const url of [
      PATH,
      `${PATH}?resourceVersion=0`,
      `${PATH}?limit=1`,
      "/api/v1/configmaps",
    ]) {
      const answer = await eventually("the replica knows", async () => {
        const listed = await each.get(url);
        return listed.status === 200 ? undefined : listed;
      });
      const { object } = answer.expect(500, url);
      assert.equal(object.reason, "StoreReadError");
      const { causes } = object.details as { causes: { field: string; message: string }[] };
      assert.deepEqual(
        causes.map(({ field }) => field),
        ["default/b"],
        "the causes name the keys",
      );
      assert.ok(!answer.text.includes("secret"), "and nothing of the content");
    }
    (await each.get(`${PATH}/b`)).expect(500);
    (await each.get(`${PATH}/a`)).expect(200);
    (await each.get(other)).expect(200);
    (await each.get("/api/v1/namespaces/default/secrets")).expect(200);
    const before = `${PATH}?resourceVersionMatch=Exact&resourceVersion=${start}`;
    assert.equal((await each.get(before)).expect(200).items.length, 3, "it could be read then");
    const streaming =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const initial = await eventsUntil(each, `${PATH}?${streaming}`, "never");
    assert.equal(initial.at(-1)?.type, "ERROR", "no bookmark says that all was told");
    assert.ok(!initial.some(({ type }) => type === "BOOKMARK"));
  }

  const gone = await etcd.delete(KEY);
  const listed = (await subject.next().get(PATH)).expect(200);
  assert.deepEqual(
    listed.items.map(({ metadata }) => metadata.name),
    ["a", "c"],
    "after it is removed, lists and watches go on",
  );
  assert.ok(revisionOf(listed.object) >= gone);
  const url = `${PATH}?watch=1&resourceVersion=${revisionOf(listed.object)}`;
  const rest = await eventsUntil(subject.next(), url, "d", async () => {
    (await subject.next().post(PATH, toConfigMap("d"))).expect(201);
  });
  assert.deepEqual(
    rest.map(({ type }) => type),
    ["ADDED"],
  );
});

function toNamespace(name: string): ApiObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}
