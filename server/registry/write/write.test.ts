/**
 * Invariants of every write, for all verbs, kinds and states: checked on random writes, many of them
 * wrong, through two replicas of one store, so that views lag as they do.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { SEED } from "../../../storage/base/testing/random.js";
import { AdmissionChain } from "../../admission/chain.js";
import { ResourceQuota } from "../../admission/quota/resource-quota.js";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import type { Registry, WriteResult } from "../registry.js";
import { binding } from "../subresources/binding.js";
import { eviction } from "../subresources/eviction.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  testUser,
  writeOptions,
} from "../testing/registry-harness.js";
import { runAction } from "./action.js";
import { applyObject } from "./apply.js";
import { createObject } from "./create.js";
import { deleteObject } from "./delete.js";
import { deleteCollection } from "./delete-collection.js";
import { deleteCorruptObject } from "./delete-corrupt.js";
import {
  drawFrom,
  drawWrite,
  type RandomWrite,
  resourceOf,
  runRandomWrite,
} from "./testing/random-writes.js";
import { patchObject, updateObject } from "./update.js";

const WRITES = 600;

const clock = {
  now: () => Date.parse("2030-01-01T00:00:00Z"),
  monotonic: () => performance.now(),
  sleep: () => Promise.reject(new Error("not used")),
};
const harness = await openRegistryHarness({ clock });
const replicas = [withQuotas(harness.registry), withQuotas(await harness.openReplica())];
const { freshness, view } = harness.registry;
after(() => harness[Symbol.asyncDispose]());

const runner = {
  harness,
  user: testUser,
  actions: { eviction, binding },
  verbs: {
    createObject,
    updateObject,
    patchObject,
    applyObject,
    deleteObject,
    deleteCollection,
    deleteCorruptObject,
    runAction,
  },
};

function withQuotas(registry: Registry): Registry {
  const fresh = async () => {
    await registry.freshness.fresh();
  };
  const plugin = new ResourceQuota({ ...registry, fresh });
  return { ...registry, admission: new AdmissionChain([plugin]) };
}

/** Verbs without a dry run. */
const ONCE: readonly string[] = ["junk", "deletecorrupt"];

/** The answer, or the Status of a refusal; any other exception fails the test. */
async function run(registry: Registry, write: RandomWrite): Promise<WriteResult | StatusError> {
  try {
    return (await runRandomWrite({ ...runner, registry }, write)).result;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

function storedAt({ namespace, ...write }: RandomWrite, name = write.name) {
  const { partition } = resourceOf(harness, write);
  return view.partition(partition).get(namespace === "" ? name : `${namespace}/${name}`);
}

/** The current object as the base of a drawn write, as if a client had just read it. */
function currentOf(write: RandomWrite): JsonObject {
  const found = storedAt(write);
  if (found === undefined || found.corruption !== undefined) return {};
  return JSON.parse(found.bytes.toString()) as JsonObject;
}

/** The answer without the parts that differ between runs. */
function comparable(answer: WriteResult | StatusError): unknown {
  const isRefused = answer instanceof StatusError;
  const text = isRefused ? JSON.stringify(answer.status) : answer.bytes.toString();
  const said = text.replace(/,?"resourceVersion":"\d+"/g, "");
  return [isRefused ? "refused" : answer.status, said.replace(/[0-9a-f-]{36}|gen-\w{5}/g, "_")];
}

test(`random writes (seed ${SEED}) answer what is stored, and store nothing when refused or dry`, async () => {
  const draw = drawFrom(SEED);
  const namespaces = harness.resource("", "v1", "namespaces");
  for (const name of ["default", "shop", "strict"]) {
    const input = inputOf({ metadata: { name } });
    const request = { resource: namespaces, namespace: "", input, options: writeOptions() };
    await createObject(harness.registry, request, noSignal);
  }
  for (let step = 0; step < WRITES; step++) {
    await freshness.fresh();
    const write = drawWrite(draw, harness.registry.naming, currentOf);
    const where = `step ${step}: ${write.verb} ${write.kind} ${write.namespace}/${write.name}`;
    const before = storedAt(write)?.revision;
    const answers: (WriteResult | StatusError)[] = [];
    // A write of a lagging replica right after that of another one.
    const isOnce = ONCE.includes(write.verb) || write.kind === "services" || namesRevision(write);
    const isTwice = write.isDryRun && !isOnce;
    for (const isDryRun of isTwice ? [true, false] : [write.isDryRun]) {
      answers.push(await run(draw.pick(replicas), { ...write, isDryRun }));
      await freshness.fresh();
      const isUnchanged = storedAt(write)?.revision === before;
      const isRefused = answers.at(-1) instanceof StatusError;
      const isWritten = !isRefused && (!isDryRun || write.verb === "deletecorrupt");
      // The only action that writes twice may have written once.
      const isHalf = write.verb === "evict" || write.verb === "junk";
      assert.ok(isUnchanged || isWritten || isHalf, `${where}: refused or dry, and written`);
    }
    const [first, second] = answers;
    if (first === undefined) continue;
    if (second !== undefined) {
      assert.deepEqual(
        comparable(first),
        comparable(second),
        `${where}: the dry run answered else`,
      );
    }
    if (!write.isDryRun || isTwice) expectStored(write, second ?? first, where);
  }
  for (const { writeQueue } of replicas) assert.equal(writeQueue?.size, 0);
  await expectSameViews();
});

/** A create that names a revision is refused by the store alone, which a dry run does not ask. */
function namesRevision({ verb, body }: RandomWrite): boolean {
  const { metadata = {} } = body as { readonly metadata?: JsonObject };
  return verb === "create" && metadata.resourceVersion !== undefined;
}

/** One replica knows an object from its own write, the other from reading it: both must be identical. */
async function expectSameViews(): Promise<void> {
  const described: unknown[] = [];
  for (const { freshness, view } of replicas) {
    await freshness.fresh();
    assert.ok(view.ownWrites.taken > WRITES / 20, `${view.ownWrites.taken} events were its own`);
    assert.equal(view.ownWrites.size, 0);
    const objects: unknown[] = [];
    for (const { id } of [...view.partitions].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      view
        .partition(id)
        .snapshot()
        .tree.visit("", "", (object) => {
          const { path, revision, bodyOffset, labels, fields, corruption, bytes } = object;
          const text = bytes.toString("latin1");
          objects.push({
            id,
            path,
            revision,
            bodyOffset,
            labels: { ...labels },
            fields,
            corruption,
            text,
          });
          return undefined;
        });
    }
    described.push(objects);
  }
  assert.deepEqual(described[0], described[1]);
}

/** An answer's object equals the object that everybody reads from now on. */
function expectStored(write: RandomWrite, answer: WriteResult | StatusError, where: string): void {
  const isObject = ["create", "update", "patch", "apply"].includes(write.verb);
  if (answer instanceof StatusError || !isObject || write.subresource === "scale") return;
  const object = JSON.parse(answer.bytes.toString()) as ApiObject;
  const stored = storedAt(write, object.metadata.name);
  // The last finalizer of an object in deletion is gone, and the object with it.
  if (stored === undefined && object.metadata.deletionTimestamp !== undefined) return;
  if (resourceOf(harness, write).conversion !== undefined) return;
  assert.equal(stored?.bytes.toString(), answer.bytes.toString(), where);
}
