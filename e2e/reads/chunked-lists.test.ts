/**
 * Lists in pages: exact at one version however many write meanwhile and whichever replica answers,
 * refused where the token is not theirs, and finished all the same when their version is gone.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../harness/eventually.js";
import type { Answer, ApiObject } from "../harness/https-client.js";
import { History, revisionOf, toConfigMap, toVersions } from "./history.js";
import { openRawEtcd } from "./raw-etcd.js";
import { openSubject, SUBJECT_NAMES, type Subject } from "./subjects.js";

interface Page {
  readonly answer: Answer;
  readonly items: readonly ApiObject[];
  readonly revision: number;
  readonly token: string;
  readonly remaining: number | undefined;
}

for (const name of SUBJECT_NAMES) {
  describe(`chunked lists on ${name}`, () => {
    let subject: Subject;
    before(async () => {
      subject = await openSubject(name);
    });
    after(() => subject[Symbol.asyncDispose]());

    test("S1-LIST-01..05, S1-COLL-04..07: pages under writers are one state, complete and counted", async () => {
      await using history = await History.open(subject, "pages");
      await Promise.all(
        Array.from({ length: 60 }, (_, i) => history.create(subject.next(), `o-${i}`)),
      );
      history.startWriter(subject);
      const chains: Page[][] = [];
      for (const limit of [1, 7, 500, 25]) {
        chains.push(await readChain(subject, history.path, `limit=${limit}`));
      }
      await history.create(subject.next(), "later");
      const fresh = (await subject.next().get(history.path)).expect(200);
      assert.ok(toVersions(fresh.items).some((version) => version.startsWith("later@")));
      await history.stop();
      for (const chain of chains) {
        const [first] = chain as [Page];
        const state = history.stateAt(first.revision);
        assert.deepEqual(toVersions(chain.flatMap(({ items }) => items)), state);
        let left = state.length;
        for (const [index, page] of chain.entries()) {
          left -= page.items.length;
          assert.equal(page.revision, first.revision, "S1-COLL-04");
          assert.equal(page.remaining, index < chain.length - 1 ? left : undefined, "S1-COLL-06");
        }
        assert.equal(left, 0);
        assert.ok(!chain.some(({ items }) => toVersions(items).join().includes("later@")));
      }
    });

    test("S1-COLL-08, S1-LIST-10: with a selector no page skips a match, and none is counted", async () => {
      await using history = await History.open(subject, "selected");
      for (let i = 0; i < 40; i++) {
        await history.create(subject.next(), `o-${i}`, { rare: String(i % 10 === 3) });
      }
      const chain = await readChain(subject, history.path, "limit=2&labelSelector=rare%3Dtrue");
      const names = chain.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
      assert.deepEqual(names, ["o-13", "o-23", "o-3", "o-33"]);
      assert.ok(chain.every(({ remaining }) => remaining === undefined));
      const byName = await readChain(
        subject,
        history.path,
        "limit=5&fieldSelector=metadata.name%3Do-7",
      );
      assert.equal(byName.flatMap(({ items }) => items).length, 1);
      const whole = (await subject.next().get(history.path)).expect(200).object;
      assert.deepEqual(Object.keys(whole.metadata), ["resourceVersion"], "S1-COLL-05, S1-COLL-07");
    });

    test("S1-LIST-10: names beyond U+E000 come in the order of their bytes, on every page", async () => {
      const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      const names = ["order-\ue000", "order-\uffff", "order-\u{10000}", "order-\u{10ffff}"];
      for (const role of names.toReversed()) {
        const metadata = { name: role, labels: { order: "bytes" } };
        (await subject.next().post(path, { metadata })).expect(201);
      }
      const chain = await readChain(subject, path, "limit=1&labelSelector=order%3Dbytes");
      const found = chain.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
      assert.deepEqual(found, names);
    });

    test("S1-LIST-06: malformed, forged and foreign tokens are 400", async () => {
      await using history = await History.open(subject, "tokens");
      for (const object of ["a", "b", "c"]) await history.create(subject.next(), object);
      const [{ token }] = (await readChain(subject, history.path, "limit=1")) as [Page];
      const decoded = JSON.parse(Buffer.from(token, "base64url").toString()) as object;
      const forge = (change: object) =>
        Buffer.from(JSON.stringify({ ...decoded, ...change })).toString("base64url");
      const refused = [
        `${history.path}?limit=1&continue=junk`,
        `${history.path}?limit=1&continue=${token.slice(0, -4)}`,
        `${history.path}?limit=1&continue=${forge({ rv: "1" })}`,
        `${history.path}?limit=1&continue=${forge({ rv: 0 })}`,
        `${history.path}?limit=1&continue=${forge({ after: "default/a" })}`,
        `${history.path}?limit=1&continue=${forge({ list: "other" })}`,
        `${history.path}?limit=1&continue=${token}&labelSelector=a`,
        `/api/v1/namespaces/default/configmaps?limit=1&continue=${token}`,
        `/api/v1/configmaps?limit=1&continue=${token}`,
        `/api/v1/namespaces/tokens/secrets?limit=1&continue=${token}`,
      ];
      for (const url of refused) {
        const answer = (await subject.next().get(url)).expect(400, url);
        assert.equal(answer.object.reason, "BadRequest");
      }
    });

    test("S1-COLL-01..03, S1-COLL-09, S1-COLL-10: the form of a list", async () => {
      await using history = await History.open(subject, "form");
      const empty = (await subject.next().get(history.path)).expect(200);
      assert.match(empty.text, /"items":\[\]/);
      await history.create(subject.next(), "b");
      const last = await history.create(subject.next(), "a");
      const { object } = (await subject.next().get("/api/v1/configmaps")).expect(200);
      assert.deepEqual([object.kind, object.apiVersion], ["ConfigMapList", "v1"]);
      assert.ok(revisionOf(object) >= revisionOf(last), "S1-COLL-03");
      const items = object.items as ApiObject[];
      assert.ok(items.every((item) => item.kind === undefined && item.apiVersion === undefined));
      const order = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
      assert.deepEqual(order, [...order].sort());
      assert.ok(order.includes("form/a"));
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      const cluster = (await subject.next().get(roles)).expect(200).object;
      assert.deepEqual(
        [cluster.kind, cluster.apiVersion],
        ["ClusterRoleList", "rbac.authorization.k8s.io/v1"],
      );
    });
  });
}

/** Memory for hardly any past, so that old versions have to come from the store. */
const SMALL = ["--watch-cache-history=1s", "--watch-cache-bytes=1Mi"];
/** A few dozen of these are more than that. */
const LARGE = "x".repeat(100_000);

test("S1-RV-26..28, S1-LIST-07, S1-LIST-08, S1-ERR-04: a version that memory has lost comes from the store, and after a compaction is 410 with a token that finishes the list", async () => {
  await using subject = await openSubject("three replicas over etcd", SMALL);
  await using etcd = await openRawEtcd(subject);
  await using history = await History.open(subject, "compacted");
  for (let i = 0; i < 20; i++) {
    await history.create(subject.next(), `o-${i}`, undefined, LARGE);
  }
  const [first] = (await readChain(subject, history.path, "limit=6")) as [Page];
  const exact = `${history.path}?resourceVersionMatch=Exact&resourceVersion=${first.revision}`;
  for (let i = 0; i < 40; i++) {
    await history.update(subject.next(), `o-${i % 20}`, undefined, LARGE);
  }
  await eventually("memory has lost the version", async () => {
    (await subject.next().get(exact)).expect(200);
    const counts = await Promise.all(subject.servers.map((server) => fallbacks(server.client)));
    return counts.every((count) => count > 0);
  });
  const whole = (await subject.next().get(exact)).expect(200);
  assert.deepEqual(toVersions(whole.items), history.stateAt(first.revision), "from the store");
  assert.equal(revisionOf(whole.object), first.revision);
  const limited = (await subject.next().get(`${exact}&limit=6`)).expect(200);
  assert.deepEqual(toVersions(limited.items), toVersions(first.items));
  const pages = await followChain(subject, history.path, "limit=6", first.token);
  const chained = [...first.items, ...pages.flatMap(({ items }) => items)];
  assert.deepEqual(toVersions(chained), history.stateAt(first.revision));
  assert.deepEqual(
    pages.map(({ remaining }) => remaining),
    [8, 2, undefined],
  );

  await etcd.compact(history.floor);
  const gone = (await subject.next().get(exact)).expect(410);
  assert.equal(gone.object.reason, "Expired");
  const next = `${history.path}?limit=6&continue=${first.token}`;
  const expired = (await subject.next().get(next)).expect(410);
  assert.equal(expired.object.reason, "Expired");
  const rest = await followChain(
    subject,
    history.path,
    "limit=6",
    expired.object.metadata.continue ?? "",
  );
  const restNames = rest.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  const names = [...first.items.map(({ metadata }) => metadata.name), ...restNames];
  assert.deepEqual(names, [...names].sort());
  assert.equal(names.length, 20, "S1-LIST-08: the list is finished from its last key");
  assert.ok(rest.every(({ revision }) => revision > first.revision));
  assert.equal(new Set(rest.map(({ revision }) => revision)).size, 1, "consistent from there");
});

test("S1-LIST-09, S1-LIM-02, S1-RV-28: the server's own compaction ends tokens (embedded)", async () => {
  await using subject = await openSubject("embedded", [...SMALL, "--etcd-compaction-interval=1s"]);
  const path = "/api/v1/namespaces/default/configmaps";
  for (let i = 0; i < 4; i++) {
    const object = toConfigMap(`o-${i}`, undefined, LARGE.repeat(4));
    (await subject.next().post(path, object)).expect(201);
  }
  const [first] = (await readChain(subject, path, "limit=1")) as [Page];
  let writes = 0;
  const expired = await eventually("the token expires", async () => {
    const name = `o-${writes++ % 4}`;
    (
      await subject.next().put(`${path}/${name}`, toConfigMap(name, undefined, LARGE.repeat(4)))
    ).expect(200);
    const answer = await subject.next().get(`${path}?limit=1&continue=${first.token}`);
    return answer.status === 410 ? answer : undefined;
  });
  const rest = await followChain(subject, path, "limit=2", expired.object.metadata.continue ?? "");
  assert.deepEqual(
    rest.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)),
    ["o-1", "o-2", "o-3"],
  );
});

async function readChain(subject: Subject, path: string, query: string): Promise<Page[]> {
  return await followChain(subject, path, query, "");
}

async function followChain(
  subject: Subject,
  path: string,
  query: string,
  token: string,
): Promise<Page[]> {
  const pages: Page[] = [];
  for (let next = token; pages.length === 0 || next !== ""; ) {
    const position = next === "" ? "" : `&continue=${next}`;
    const answer = (await subject.next().get(`${path}?${query}${position}`)).expect(200);
    const { object, items } = answer;
    const { remainingItemCount } = object.metadata as { remainingItemCount?: number };
    next = object.metadata.continue ?? "";
    pages.push({
      answer,
      items,
      revision: revisionOf(object),
      token: next,
      remaining: remainingItemCount,
    });
  }
  return pages;
}

async function fallbacks(client: { get(path: string): Promise<Answer> }): Promise<number> {
  const { text } = (await client.get("/metrics")).expect(200);
  return Number(/^apiserver_historical_list_fallbacks_total (\d+)/m.exec(text)?.[1] ?? 0);
}
