/** Precedence of the facts' rules and hand-written ones, and the counted mismatches. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { invalidValue, requiredValue, tooManyItems } from "../../api/field-errors.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { NO_STRATEGY } from "../../kinds/strategy.js";
import { createDeclarativeValidation, type Mismatch } from "../generic/declarative-validation.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { patchObject } from "./update.js";

const harness = await openRegistryHarness();
const writes = plainWrites(harness);
const mismatches: Mismatch[] = [];

function openValidation(...gates: readonly string[]) {
  return createDeclarativeValidation({
    isGateEnabled: (gate) => gates.includes(gate),
    onMismatch: (mismatch) => mismatches.push(mismatch),
  });
}

const compared = openValidation("DeclarativeValidation");
const off = openValidation();
const takeover = openValidation("DeclarativeValidation", "DeclarativeValidationTakeover");
const registry: Registry = { ...harness.registry, declarative: compared };

before(() => writes.create("", "namespaces", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

const runtimeClasses = harness.resource("node.k8s.io", "v1", "runtimeclasses");
const roles = harness.resource("rbac.authorization.k8s.io", "v1", "roles");
const claims = harness.resource("resource.k8s.io", "v1", "resourceclaims");

function runtimeClass(handler: string): ApiObject & JsonObject {
  return {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "x" },
    handler,
  };
}

const create = (next: ApiObject) => ({ next, current: undefined });

test("S1-FEAT-06, S1-FEAT-07: hand-written rules decide, and what only the others find is counted", () => {
  mismatches.length = 0;
  const bad = create(runtimeClass("NOT A NAME"));
  assert.deepEqual(compared.judge(runtimeClasses, bad, []), []);
  const counted = {
    group: "node.k8s.io",
    resource: "runtimeclasses",
    field: "handler",
    reason: "FieldValueInvalid",
    foundBy: "declarative",
  };
  assert.deepEqual(mismatches.splice(0), [counted]);

  assert.deepEqual(off.judge(runtimeClasses, bad, []), []);
  assert.deepEqual(mismatches, [], "without DeclarativeValidation nothing is compared");

  const found = takeover.judge(runtimeClasses, bad, []);
  assert.deepEqual(
    found.map(({ field, reason }) => [field, reason]),
    [["handler", "FieldValueInvalid"]],
  );
});

test("S1-FEAT-06, S1-FEAT-07: what only hand-written rules find is counted and stands, until the others take over", () => {
  mismatches.length = 0;
  const good = create(runtimeClass("runc"));
  const injected = [requiredValue("handler"), invalidValue("overhead", 1, "not covered")];
  assert.deepEqual(compared.judge(runtimeClasses, good, injected), injected);
  assert.deepEqual(
    mismatches.splice(0).map(({ field, foundBy }) => [field, foundBy]),
    [["handler", "handwritten"]],
  );
  assert.deepEqual(takeover.judge(runtimeClasses, good, injected), injected.slice(1));
});

test("S1-FEAT-06: the same field refused for the same reason is one error", () => {
  mismatches.length = 0;
  const bad = create(runtimeClass("NOT A NAME"));
  const found = [invalidValue("handler", "NOT A NAME", "in other words")];
  for (const validation of [compared, takeover, off]) {
    assert.deepEqual(validation.judge(runtimeClasses, bad, found), found);
  }
  assert.deepEqual(mismatches, []);
});

test("S1-FEAT-06: as many mistakes as fit into a body are judged in no time", () => {
  mismatches.length = 0;
  const count = 50_000;
  const rules = Array.from({ length: count }, () => ({}));
  const next = { metadata: { name: "x" }, rules } as unknown as ApiObject;
  const found = rules.map((_, index) => requiredValue(`rules[${index}].verbs`));
  for (const validation of [compared, takeover, off]) {
    assert.equal(validation.judge(roles, create(next), found).length, count);
  }
  mismatches.length = 0;
});

test("S1-FEAT-06: types without hand-written rules are held to those of the facts", async () => {
  const requests = Array.from({ length: 33 }, (_, index) => ({
    name: `r${index}`,
    exactly: { deviceClassName: "gpu" },
  }));
  const claim = { metadata: { name: "many" }, spec: { devices: { requests } } };
  const unruled = { ...claims, strategy: NO_STRATEGY };
  const request = {
    resource: unruled,
    namespace: "default",
    input: inputOf(claim as unknown as JsonValue),
    options: writeOptions(),
  };
  await assert.rejects(createObject(registry, request, noSignal), (error) => {
    assert(error instanceof StatusError);
    const { field, message } = tooManyItems("spec.devices.requests", 33, 32);
    assert.deepEqual(
      error.status.details?.causes?.map((cause) => [cause.field, cause.message]),
      [[field, message]],
    );
    return true;
  });
  // It was stored before the facts' rules applied; it still accepts labels, but no change of the
  // field.
  await createObject(harness.registry, request, noSignal);
  const patch = (change: JsonObject) =>
    patchObject(
      registry,
      {
        resource: unruled,
        namespace: "default",
        name: "many",
        subresource: "",
        options: writeOptions(),
        patch: (current) => applyMergePatch(current, change),
      },
      noSignal,
    );
  await patch({ metadata: { labels: { a: "b" }, finalizers: ["example.com/x"] } });
  await patch({ metadata: { finalizers: null } });
  await assert.rejects(patch({ spec: { devices: { requests: null } } }), StatusError);
});
