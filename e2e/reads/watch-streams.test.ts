/**
 * What a watch tells: types of events, selectors, bookmarks, ends, and what happens at the borders of
 * history. The tables of how it begins are in semantics.test.ts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { within } from "../harness/eventually.js";
import type { ApiObject, HttpsClient, WatchEvent } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { eventsUntil, History, revisionOf, toConfigMap, toPast, toText } from "./history.js";
import { openRawEtcd } from "./raw-etcd.js";
import { openSubject, SUBJECT_NAMES, type Subject } from "./subjects.js";

for (const name of SUBJECT_NAMES) {
  // Most of them wait for time to pass, so they do it together.
  describe(`watches on ${name}`, { concurrency: 4 }, () => {
    let subject: Subject;
    before(async () => {
      subject = await openSubject(name);
    });
    after(() => subject[Symbol.asyncDispose]());

    test("S1-WATCH-03..05, S1-VER-06: additions, changes and deletions, each with its version", async () => {
      await using history = await History.open(subject, "types");
      const start = history.floor;
      const created = await history.create(subject.next(), "a");
      const changed = await history.update(subject.next(), "a");
      await history.delete(subject.next(), "a");
      const marker = await history.create(subject.next(), "z");
      const url = `${history.path}?watch=1&resourceVersion=${start}`;
      const events = await eventsUntil(subject.next(), url, "z");
      assert.deepEqual(
        events.map(({ type }) => type),
        ["ADDED", "MODIFIED", "DELETED", "ADDED"],
      );
      const [added, modified, deleted] = events as [WatchEvent, WatchEvent, WatchEvent];
      assert.deepEqual(added.object, created);
      assert.deepEqual(modified.object, changed);
      const { resourceVersion, ...metadata } = deleted.object.metadata;
      assert.ok(Number(resourceVersion) > revisionOf(changed), "the version of the deletion");
      assert.ok(Number(resourceVersion) < revisionOf(marker));
      assert.deepEqual({ ...changed.metadata, ...metadata }, changed.metadata, "the last state");
      assert.deepEqual(deleted.object.data, changed.data);
    });

    test("S1-WATCH-09, S1-WATCH-10: all watchers see one order, and resume anywhere without gap or repeat", async () => {
      await using history = await History.open(subject, "order");
      const start = history.floor;
      history.startWriter(subject);
      const url = `${history.path}?watch=1&resourceVersion=`;
      const seen: string[] = [];
      let revision = start;
      // A new connection after a few events, each to the next replica.
      while (seen.length < 60) {
        const events = await take(subject.next(), url + String(revision), 7);
        seen.push(...events.map((event) => toText(toPast(event))));
        revision = revisionOf((events.at(-1) as WatchEvent).object);
      }
      const [left, right] = await Promise.all([
        take(subject.next(), url + String(start), 60),
        take(subject.next(), url + String(start), 60),
      ]);
      await history.stop();
      assert.deepEqual(seen, history.eventsAfter(start).slice(0, seen.length));
      for (const other of [left, right]) {
        const texts = other.map((event) => toText(toPast(event)));
        assert.deepEqual(texts, seen.slice(0, 60));
      }
    });

    test("S1-WATCH-21, S1-WATCH-22: entering a selector is ADDED, leaving it DELETED; others hear nothing", async () => {
      await using history = await History.open(subject, "selectors");
      const { path, floor: start } = history;
      const blue = { colour: "blue" };
      await history.create(subject.next(), "a", { colour: "red" });
      await history.update(subject.next(), "a", blue);
      await history.update(subject.next(), "a", blue);
      const left = await history.update(subject.next(), "a", { colour: "red" });
      await history.create(subject.next(), "b", blue);
      await history.delete(subject.next(), "b");
      await history.create(subject.next(), "z", blue);
      const told = async (query: string, where = path) => {
        const url = `${where}?watch=1&resourceVersion=${start}&${query}`;
        const events = await eventsUntil(subject.next(), url, "z");
        return events;
      };
      const brief = (events: readonly WatchEvent[]) =>
        events.map(({ type, object }) => `${type} ${object.metadata.name}`);
      const selected = await told("labelSelector=colour%3Dblue");
      assert.deepEqual(brief(selected), [
        "ADDED a",
        "MODIFIED a",
        "DELETED a",
        "ADDED b",
        "DELETED b",
        "ADDED z",
      ]);
      const gone = selected[2] as WatchEvent;
      assert.deepEqual(gone.object.metadata.labels, blue, "as the watcher knew it");
      assert.equal(revisionOf(gone.object), revisionOf(left), "at the version of the change");
      assert.deepEqual(brief(await told("fieldSelector=metadata.name%3Dz")), ["ADDED z"]);
      assert.deepEqual(
        brief(
          await told(
            "fieldSelector=metadata.namespace%3Dselectors,metadata.name%3Dz",
            "/api/v1/configmaps",
          ),
        ),
        ["ADDED z"],
      );
      assert.deepEqual(
        brief(await told("labelSelector=colour%3Dblue,!x&fieldSelector=metadata.name!%3Da")),
        ["ADDED b", "DELETED b", "ADDED z"],
      );
    });

    test("S1-GEN-04, S1-WATCH-22: legacy paths watch a collection, a namespace and one object", async () => {
      await using history = await History.open(subject, "legacy");
      const { floor: start } = history;
      await history.create(subject.next(), "legacy-a");
      await history.create(subject.next(), "legacy-z");
      const cases: [path: string, expected: string[]][] = [
        ["/api/v1/watch/namespaces/legacy/configmaps", ["legacy-a", "legacy-z"]],
        ["/api/v1/watch/namespaces/legacy/configmaps/legacy-z", ["legacy-z"]],
        ["/api/v1/watch/configmaps", ["legacy-a", "legacy-z"]],
      ];
      for (const [path, expected] of cases) {
        const url = `${path}?resourceVersion=${start}`;
        const events = await eventsUntil(subject.next(), url, "legacy-z");
        // Over all namespaces the other tests of this file are seen as well.
        const own = events.filter(({ object }) => object.metadata.namespace === "legacy");
        assert.deepEqual(
          own.map(({ object }) => object.metadata.name),
          expected,
          path,
        );
      }
      (await subject.next().get("/api/v1/watch/namespaces/legacy/nonsense")).expect(404);
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        const answer = await subject.next().request("/api/v1/watch/configmaps", { method });
        answer.expect(405, method);
      }
    });

    test("S1-QP-01, S1-GEN-16: watch is 1, true or just there; 0 and false are a list", async () => {
      await Promise.all(
        ["watch=1", "watch=true", "watch", "watch="].map(async (value) => {
          const url = `/api/v1/configmaps?${value}&resourceVersion=0&timeoutSeconds=1`;
          const answer = (await subject.next().get(url)).expect(200, url);
          assert.ok(!answer.text.includes("ConfigMapList"), url);
        }),
      );
      for (const value of ["watch=0", "watch=false"]) {
        const answer = (await subject.next().get(`/api/v1/configmaps?${value}`)).expect(200);
        assert.equal(answer.object.kind, "ConfigMapList");
      }
    });

    test("S1-WATCH-06, S1-WATCH-07, S1-WATCH-23, S1-QP-08, S1-QP-15: a bookmark before the end, a clean end in time", async () => {
      await using history = await History.open(subject, "ends");
      const { path } = history;
      const last = await history.create(subject.next(), "a");
      const startedAt = performance.now();
      const query = `watch=1&resourceVersion=${revisionOf(last)}&timeoutSeconds=1`;
      const [plain, marked] = await Promise.all([
        all(subject.next(), `${path}?${query}`),
        all(subject.next(), `${path}?${query}&allowWatchBookmarks=true`),
      ]);
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs >= 900, `${tookMs} ms`);
      assert.deepEqual(plain, [], "bookmarks come only to those who ask");
      assert.deepEqual(
        marked.map(({ type }) => type),
        ["BOOKMARK"],
      );
      const { object } = marked[0] as WatchEvent;
      assert.deepEqual([object.kind, object.apiVersion], ["ConfigMap", "v1"]);
      assert.ok(revisionOf(object) >= revisionOf(last), "all up to it was sent");
      const { creationTimestamp, ...metadata } = object.metadata;
      assert.equal(creationTimestamp ?? null, null);
      assert.deepEqual(Object.keys(metadata), ["resourceVersion"]);
      assert.equal(object.data, undefined);
    });

    test("S1-WATCH-15: a watch from a future version waits until it comes, or until the timeout", async () => {
      await using history = await History.open(subject, "future");
      const { path } = history;
      const future = revisionOf(await history.create(subject.next(), "a")) + 8;
      const never = all(
        subject.next(),
        `${path}?watch=1&resourceVersion=${10 ** 15}&timeoutSeconds=1&allowWatchBookmarks=true`,
      );
      const url = `${path}?watch=1&resourceVersion=${future}`;
      const events = await eventsUntil(subject.next(), url, "z", async () => {
        while (history.floor <= future) await history.update(subject.next(), "a");
        await history.create(subject.next(), "z");
      });
      await history.settle();
      assert.deepEqual(
        events.map((event) => toText(toPast(event))),
        history.eventsAfter(future),
        "what came up to that version is not told",
      );
      assert.deepEqual(await never, [], "no events, no bookmark of a version that is not reached");
    });

    test("S1-RV-29, S1-ERR-05, S1-ERR-06, S1-VER-02, S1-VER-09: a future version on get and list is 504 after about 3 s", async () => {
      await using history = await History.open(subject, "unknown");
      await history.create(subject.next(), "a");
      const versions = [String(10 ** 15), "9007199254740993", "99999999999999999999999"];
      const urls = versions.flatMap((version) => [
        `${history.path}/a?resourceVersion=${version}`,
        `${history.path}?resourceVersion=${version}`,
        `${history.path}?resourceVersion=${version}&resourceVersionMatch=Exact`,
        `${history.path}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${version}`,
      ]);
      const startedAt = performance.now();
      let isHurried = false;
      const hurried = subject
        .next()
        .get(`${urls[0]}&timeout=500ms`)
        .finally(() => {
          isHurried = true;
        });
      const answers = await Promise.all(urls.map((url) => subject.next().get(url)));
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs > 2_500, `${tookMs} ms`);
      assert.ok(isHurried, "S1-QP-15: the request's own timeout");
      (await hurried).expect(504);
      for (const [index, answer] of answers.entries()) {
        const { object, headers } = answer.expect(504);
        const asked = versions[Math.floor(index / 4)];
        assert.ok(String(object.message).includes(`version: ${asked}, current`), "not rounded");
        assert.equal(headers["retry-after"], "1");
        assert.equal(object.reason, "Timeout");
        assert.match(String(object.message), /^Too large resource version: \d+, current: \d+$/);
        assert.deepEqual((object.details as { causes: unknown }).causes, [
          { reason: "ResourceVersionTooLarge", message: "Too large resource version" },
        ]);
      }
    });

    test("S1-WATCH-02: a stream of JSON documents in HTTP chunks", async () => {
      await using history = await History.open(subject, "raw");
      await history.create(subject.next(), "a");
      const [server] = subject.servers as [Subject["servers"][number]];
      const socket = connect({
        host: "127.0.0.1",
        port: server.port,
        ...server.credentials,
        ALPNProtocols: ["http/1.1"],
      });
      const url = `${history.path}?watch=1&timeoutSeconds=1`;
      socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      let text = "";
      for await (const chunk of socket) text += String(chunk);
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(text, /\r\nTransfer-Encoding: chunked\r\n/i);
      assert.match(text, /\r\nContent-Type: application\/json\r\n/i);
      assert.match(text, /\r\n[0-9a-f]+\r\n\{"type":"ADDED","object":\{.*\}\}\n\r\n0\r\n\r\n$/);
    });
  });
}

test("S1-WATCH-14, S1-WATCH-08, S1-VER-07, S1-ERR-04: after a compaction a replica that starts tells what is left, and 410 before it", async () => {
  await using subject = await openSubject("one replica over etcd");
  await using etcd = await openRawEtcd(subject);
  const client = subject.next();
  const path = "/api/v1/namespaces/default/configmaps";
  const revisions: number[] = [];
  for (let i = 0; i < 6; i++) {
    const object = toConfigMap(`o-${i}`);
    revisions.push(revisionOf((await client.post(path, object)).expect(201).object));
  }
  await etcd.compact(revisions[3] as number);
  await using young = await startServer({
    etcdEndpoints: [subject.etcd?.endpoint ?? ""],
    flags: ["--run-controllers=false"],
  });
  const watchFrom = (revision: number) =>
    eventsUntil(young.client, `${path}?watch=1&resourceVersion=${revision}`, "o-5");
  const [error] = await watchFrom(revisions[0] as number);
  assert.equal(error?.type, "ERROR");
  const status = error?.object as ApiObject;
  assert.deepEqual([status.kind, status.code, status.reason], ["Status", 410, "Expired"]);
  const rest = await watchFrom(revisions[3] as number);
  assert.deepEqual(
    rest.map(({ object }) => object.metadata.name),
    ["o-4", "o-5"],
  );
});

async function take(client: HttpsClient, url: string, count: number): Promise<WatchEvent[]> {
  const ended = new AbortController();
  const events: WatchEvent[] = [];
  const watch = await client.watch(url, ended.signal);
  await within(`${count} events of ${url}`, fill());
  ended.abort();
  return events;

  async function fill(): Promise<void> {
    for await (const event of watch) {
      events.push(event);
      if (events.length === count) return;
    }
  }
}

/** All events until the server ends the stream in good order. */
async function all(client: HttpsClient, url: string): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of await client.watch(url)) events.push(event);
  return events;
}
