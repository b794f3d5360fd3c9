/** Lists for clients that accept gzip: they decompress to the plain list, whatever is cached. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { CompressedRuns } from "./compressed-runs.js";
import { openTestReads, type TestReads } from "./testing/test-reads.js";

const MIN_BYTES = 2_000;
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

interface RawAnswer {
  readonly coding: string | undefined;
  readonly body: Buffer;
}

/** Returns the raw body; fetch would decompress it. */
async function rawGet(
  { server }: TestReads,
  query: string,
  headers: Record<string, string>,
): Promise<RawAnswer> {
  const path = `/api/v1/namespaces/default/configmaps${query}`;
  const request = httpGet({ host: "127.0.0.1", port: server.port, path, headers });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece);
  assert.equal(response.statusCode, 200);
  return { coding: response.headers["content-encoding"], body: Buffer.concat(pieces) };
}

/** The plain list, compared with the decompressed one first. */
async function listBothWays(reads: TestReads, query: string, accept: string): Promise<string> {
  const plain = await rawGet(reads, query, { accept });
  assert.equal(plain.coding, undefined);
  const packed = await rawGet(reads, query, { accept, "accept-encoding": "gzip" });
  const isLong = plain.body.length >= MIN_BYTES + 100;
  if (isLong) assert.equal(packed.coding, "gzip", `${query} has ${plain.body.length} bytes`);
  const unpacked = packed.coding === "gzip" ? gunzipSync(packed.body) : packed.body;
  assert.equal(unpacked.toString(), plain.body.toString());
  return plain.body.toString();
}

function configMap(name: string, bytes: number, seed: number): string {
  const metadata = {
    name,
    namespace: "default",
    uid: `uid-${name}`,
    labels: { odd: `${seed % 2}` },
  };
  const text = `${seed}é`.repeat(Math.ceil(bytes / 4)).slice(0, bytes);
  return JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, data: { text } });
}

const change = fc.record({
  name: fc.integer({ min: 0, max: 60 }),
  isDeleted: fc.boolean(),
  bytes: fc.oneof(
    fc.integer({ min: 0, max: 300 }),
    fc.constantFrom(3_000, 20_000, 70_000, 200_000),
  ),
  seed: fc.nat(),
});

test("S1-NEG-18, S1-NEG-19: what is unpacked is the plain list, in every form, after any changes", async () => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  const now = () => nowMs;
  const runs = new CompressedRuns({ bytesMax: 300_000, now });
  const compression = { minBytes: MIN_BYTES, runs };
  const random = fc.sample(fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 12 }), 4);
  await using reads = await openTestReads({ compression, now });
  const there = new Set<number>();
  for (const changes of random.flat()) {
    for (const { name, isDeleted, bytes, seed } of changes) {
      const path = `o-${String(name).padStart(3, "0")}`;
      if (!isDeleted) {
        await reads.put(path, configMap(path, bytes, seed));
        there.add(name);
      } else if (there.delete(name)) await reads.delete(path);
    }
    await listBothWays(reads, "", "application/json");
    await listBothWays(reads, "", TABLE);
    await listBothWays(reads, "?labelSelector=odd%3D1", METADATA);
    let token = "";
    do {
      const page = await listBothWays(reads, `?limit=7${token}`, "application/json");
      const next = JSON.parse(page).metadata.continue as string | undefined;
      token = next === undefined ? "" : `&continue=${encodeURIComponent(next)}`;
    } while (token !== "");
    assert.ok(runs.bytes <= 300_000);
  }
  assert.ok(runs.counts.reused > 0);
});

test("one object that changes spoils one run, and a list that begins elsewhere finds the others", async () => {
  const runs = new CompressedRuns();
  const compression = { minBytes: MIN_BYTES, runs };
  await using reads = await openTestReads({ compression });
  for (let i = 0; i < 400; i++) {
    const name = `o-${String(i).padStart(3, "0")}`;
    await reads.put(name, configMap(name, 4_000, i));
  }
  const made = async (query: string) => {
    const before = runs.counts.made;
    await listBothWays(reads, query, "application/json");
    return runs.counts.made - before;
  };
  const all = await made("");
  assert.ok(all > 8, `${all} runs`);
  assert.equal(await made(""), 0);
  await reads.put("o-200", configMap("o-200", 4_000, 1));
  assert.equal(await made(""), 1);
  await reads.delete("o-300");
  assert.ok((await made("")) <= 2, "a run that ended with the object now ends with the next one's");
  assert.ok((await made("?limit=200")) <= 2, "only what the page cuts is new");
});

test("ages in a compressed table move on with the clock", async () => {
  let nowMs = 5_000;
  const now = () => nowMs;
  const compression = { minBytes: MIN_BYTES, runs: new CompressedRuns({ now }) };
  const printer = {
    columns: [{ name: "Age", type: "string" as const, format: "", description: "", priority: 0 }],
    row: (_object: unknown, atMs: number) => ({ cells: [`${atMs / 1000}s`] }),
  };
  await using reads = await openTestReads({ compression, now, printer });
  for (let i = 0; i < 30; i++) await reads.put(`o-${i}`, configMap(`o-${i}`, 0, i));
  assert.match(await listBothWays(reads, "", TABLE), /"5s"/);
  nowMs += 7_000;
  assert.match(await listBothWays(reads, "", TABLE), /"12s"/);
});

test("what nobody lists any more is forgotten", async () => {
  let nowMs = 0;
  const runs = new CompressedRuns({ now: () => nowMs });
  await using reads = await openTestReads({ compression: { minBytes: MIN_BYTES, runs } });
  for (let i = 0; i < 300; i++) await reads.put(`o-${i}`, configMap(`o-${i}`, 0, i));
  const json = await listBothWays(reads, "", "application/json");
  const ofJson = runs.bytes;
  assert.ok(ofJson > 0);
  nowMs += 15_000;
  await listBothWays(reads, "", METADATA);
  const ofBoth = runs.bytes;
  nowMs += 15_000;
  runs.forgetUnused();
  assert.equal(runs.bytes, ofBoth - ofJson, "the metadata was listed 15 seconds ago");
  nowMs += 15_000;
  runs.forgetUnused();
  assert.equal(runs.bytes, 0);
  assert.equal(await listBothWays(reads, "", "application/json"), json);
});

test("what is in use is not given up for what comes once: a list beyond the bound keeps a part", async () => {
  let nowMs = 0;
  const runs = new CompressedRuns({ bytesMax: 40_000, now: () => nowMs });
  const compression = { minBytes: MIN_BYTES, runs };
  await using reads = await openTestReads({ compression });
  for (let i = 0; i < 300; i++) {
    const name = `o-${String(i).padStart(3, "0")}`;
    const random = Array.from({ length: 500 }, (_, at) => Math.imul(i + 1, at * at + 7) & 0xffff);
    const metadata = { name, namespace: "default" };
    const data = { text: random.join(" ") };
    await reads.put(name, JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, data }));
  }
  await listBothWays(reads, "", "application/json");
  const { made } = runs.counts;
  await listBothWays(reads, "", "application/json");
  assert.ok(runs.counts.reused > 0);
  assert.ok(runs.counts.made > made);
  assert.ok(runs.bytes <= 40_000);
  nowMs += 60_000;
  await listBothWays(reads, "?labelSelector=a!%3Db", METADATA);
  assert.ok(runs.bytes <= 40_000, "what nobody asked for lately makes room");
});
