/** Lists from memory and from the store's history: the same answers from either. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { soon } from "../../../e2e/harness/eventually.js";
import { openTestReads, type TestReads } from "./testing/test-reads.js";

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: { readonly metadata: { readonly name: string; resourceVersion: string } }[];
}

async function list(reads: TestReads, query: string): Promise<List> {
  const answer = await reads.get(query);
  assert.equal(answer.status, 200, `${query}: ${answer.status}`);
  return (await answer.json()) as List;
}

const namesOf = ({ items }: List) => items.map(({ metadata }) => metadata.name);

for (const usesSnapshots of [true, false]) {
  const source = usesSnapshots ? "memory" : "the store";
  test(`S1-RV-27, S1-FEAT-08, S1-LIST-01..03: exact lists and pages come from ${source} with ListFromCacheSnapshot=${usesSnapshots}`, async () => {
    await using reads = await openTestReads({ usesSnapshots });
    for (let i = 0; i < 10; i++) await reads.put(`o-${i}`);
    const first = await list(reads, "?limit=4");
    const { resourceVersion, continue: token = "" } = first.metadata;
    assert.equal(first.metadata.remainingItemCount, 6);
    assert.equal(reads.history.fallbacks, 0, "the first page is the most recent state");
    await reads.put("o-0");
    await reads.put("late");
    await reads.delete("o-9");
    const second = await list(reads, `?limit=4&continue=${token}`);
    assert.deepEqual(namesOf(second), ["o-4", "o-5", "o-6", "o-7"]);
    assert.equal(second.metadata.remainingItemCount, 2);
    assert.equal(second.metadata.resourceVersion, resourceVersion);
    const third = await list(reads, `?limit=4&continue=${second.metadata.continue}`);
    assert.deepEqual(namesOf(third), ["o-8", "o-9"]);
    assert.deepEqual(third.metadata, { resourceVersion });
    const rest = await list(reads, `?continue=${token}`);
    assert.deepEqual(namesOf(rest), [...namesOf(second), ...namesOf(third)]);
    const exact = await list(
      reads,
      `?resourceVersionMatch=Exact&resourceVersion=${resourceVersion}`,
    );
    assert.deepEqual(exact.items, [...first.items, ...second.items, ...third.items]);
    const selected = await list(
      reads,
      `?resourceVersionMatch=Exact&resourceVersion=${resourceVersion}&labelSelector=name%20in%20(o-1,o-8)&limit=1`,
    );
    assert.deepEqual(namesOf(selected), ["o-1"]);
    assert.equal(selected.metadata.remainingItemCount, undefined, "S1-COLL-08");
    const next = await list(
      reads,
      `?labelSelector=name%20in%20(o-1,o-8)&limit=1&continue=${selected.metadata.continue}`,
    );
    assert.deepEqual(namesOf(next), ["o-8"]);
    assert.equal(reads.history.fallbacks > 0, !usesSnapshots);
  });
}

test("S1-RV-26, S1-NEG-16: a large old list is read from the store and sent piece by piece", async () => {
  await using reads = await openTestReads({ usesSnapshots: false });
  const text = "x".repeat(1_000);
  await Promise.all(
    Array.from({ length: 1_500 }, async (_, i) => {
      const name = `o-${String(i).padStart(4, "0")}`;
      const metadata = { name, namespace: "default" };
      const object = { kind: "ConfigMap", apiVersion: "v1", metadata, data: { text } };
      return await reads.put(name, JSON.stringify(object));
    }),
  );
  const { metadata } = await list(reads, "?limit=1");
  await reads.delete("o-0700");
  const old = await list(
    reads,
    `?resourceVersionMatch=Exact&resourceVersion=${metadata.resourceVersion}`,
  );
  assert.equal(old.items.length, 1_500);
  assert.deepEqual(namesOf(old), [...namesOf(old)].sort());
});

test("S1-UNS-11: an old list from the store fails on what cannot be read, and one from before does not", async () => {
  await using reads = await openTestReads({ usesSnapshots: false });
  await reads.put("a");
  const before = await reads.put("b");
  const after = await reads.put("b", "junk");
  const exact = (revision: number) =>
    reads.get(`?resourceVersionMatch=Exact&resourceVersion=${revision}`);
  assert.equal((await exact(before)).status, 200);
  assert.equal((await exact(after)).status, 500);
  assert.equal((await reads.get("")).status, 500);
  assert.equal((await reads.get("?limit=1")).status, 500);
});

test("S1-LIST-10: a selector that leaves out nearly everything gives others their turn and skips nothing", async () => {
  await using reads = await openTestReads();
  const { view } = reads.harness.registry;
  for (let i = 0; i < 25_000; i += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, at) => reads.put(`o-${String(i + at).padStart(5, "0")}`)),
    );
  }
  const last = await reads.put("z");
  await view.waitForRevision(last, soon());
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const found = await list(reads, "?labelSelector=name%3Do-24999");
  const page = await list(reads, "?labelSelector=name%3Do-24999&limit=1");
  clearInterval(counting);
  assert.deepEqual([namesOf(found), namesOf(page)], [["o-24999"], ["o-24999"]]);
  assert.equal(page.metadata.continue, undefined);
  assert.ok(turns > 2);
});

test("S1-NEG-17, S1-LIM-04: a large list in an encoding that is not recommended for it is counted, once", async () => {
  const counted: string[] = [];
  const largeLists = { bytes: 600_000, count: (encoding: string) => void counted.push(encoding) };
  await using reads = await openTestReads({ largeLists });
  for (let i = 0; i < 8; i++) {
    const metadata = { name: `o-${i}`, namespace: "default", uid: `uid-${i}` };
    const data = { text: "x".repeat(200_000) };
    const object = { kind: "ConfigMap", apiVersion: "v1", metadata, data };
    await reads.put(`o-${i}`, JSON.stringify(object));
  }
  const readAll = async (rest: string, accept: string) => {
    const answer = await reads.get(rest, accept);
    assert.equal(answer.status, 200);
    await answer.arrayBuffer();
  };
  await readAll("", "application/json");
  await readAll("?limit=2", "application/yaml");
  assert.deepEqual(counted, []);
  await readAll("", "application/yaml");
  await readAll("?pretty=true", "application/json");
  assert.deepEqual(counted, ["yaml", "pretty"]);
});
