/**
 * The rules of the facts beside the hand-written ones, on a whole server: whoever decides, the answer is the same, and
 * nothing is counted as different. Who decides where they differ is said by the tests of the registry.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
const METRIC =
  /^declarative_validation_mismatch_total\{validation_identifier="storage\.k8s\.io\/storageclasses"\} (\d+)$/m;

async function refusedReasons({ client }: ServerProcess): Promise<(string | undefined)[]> {
  const storageClass = {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "slow" },
    provisioner: "example.com/disk",
    parameters: { type: "slow" },
  };
  (await client.post(CLASSES, storageClass)).expect(201);
  const changed = { ...storageClass, parameters: { type: "fast" } };
  const answer = (await client.put(`${CLASSES}/slow`, changed)).expect(422);
  const { causes } = answer.object.details as { causes: { reason: string; field: string }[] };
  assert.deepEqual(new Set(causes.map(({ field }) => field)), new Set(["parameters"]));
  return causes.map(({ reason }) => reason);
}

async function mismatches({ client }: ServerProcess): Promise<number> {
  const found = METRIC.exec((await client.get("/metrics")).text);
  return Number(found?.[1] ?? 0);
}

test("S1-FEAT-06, S1-FEAT-07: hand-written validation decides, and agrees with the facts", async () => {
  await using server = await startServer();
  assert.equal(await mismatches(server), 0);
  assert.deepEqual(await refusedReasons(server), ["FieldValueInvalid"]);
  assert.equal(await mismatches(server), 0);
});

test("S1-FEAT-06: with DeclarativeValidationTakeover the rules of the facts decide", async () => {
  const flags = ["--feature-gates=DeclarativeValidationTakeover=true"];
  await using server = await startServer({ flags });
  assert.deepEqual(await refusedReasons(server), ["FieldValueInvalid"]);
});

test("S1-FEAT-06: without DeclarativeValidation nothing is compared", async () => {
  await using server = await startServer({
    flags: ["--feature-gates=DeclarativeValidation=false"],
  });
  assert.deepEqual(await refusedReasons(server), ["FieldValueInvalid"]);
  assert.equal(await mismatches(server), 0);
});
