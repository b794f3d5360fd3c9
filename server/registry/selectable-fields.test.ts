/** The fields that clients may select built-in kinds by, in the versions of release 1.36. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceOf } from "./testing/problems.js";

const namesOf = (kind: string) => resourceOf(kind).strategy.selectableFieldNames ?? [];

test("D5: a version's fields are those that clients of release 1.36 may select by", () => {
  const pods = resourceOf("v1/pods").strategy;
  assert.ok(pods.selectableFieldNames?.includes("status.podIPs"));
  const ips = [{ ip: "192.0.2.1" }];
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "x" }, status: { podIPs: ips } };
  const fields = pods.selectableFields?.(pod as never);
  assert.deepEqual([fields?.["status.podIPs"], fields?.["spec.hostNetwork"]], ["", "false"]);
  assert.deepEqual(namesOf("v1/events").includes("source"), true);
  assert.deepEqual(namesOf("events.k8s.io/v1/events").includes("source"), false);
  assert.deepEqual(namesOf("v1/replicationcontrollers"), ["status.replicas"]);
  assert.deepEqual(namesOf("apps/v1/replicasets"), []);
});
