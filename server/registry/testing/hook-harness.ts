/**
 * A write path with admission webhooks, and one real server that they are: set up when the file is
 * imported and closed after its importer's tests, with no configuration left from one to the next.
 */
import assert from "node:assert/strict";
import { after, afterEach } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../../admission/testing/admission-webhook.js";
import type { JsonObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import { openRuleHarness, type RuleHarness } from "./rule-harness.js";

export const harness: RuleHarness = await openRuleHarness();
const GROUP = `admissionregistration.${createNaming(DEFAULT_VENDOR).groupDomain}/v1`;
export const MUTATING = `${GROUP}/mutatingwebhookconfigurations`;
export const VALIDATING = `${GROUP}/validatingwebhookconfigurations`;
export const hook: AdmissionHook = await openAdmissionHook();
/** Configurations that are there now, by resource and name. */
const stored: [string, string][] = [];
const names = { counter: 0 };

after(async () => {
  await hook[Symbol.asyncDispose]();
  await harness[Symbol.asyncDispose]();
});
afterEach(async () => {
  await removeAll();
  hook.respond = () => ({ allowed: true });
  hook.requests.length = 0;
});

export const ALL_CONFIG_MAPS = {
  operations: ["*"],
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps"],
};

export function webhook(changes: JsonObject = {}): JsonObject {
  return {
    name: "judge.example.com",
    clientConfig: hook.clientConfig(),
    rules: [ALL_CONFIG_MAPS],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...changes,
  };
}

export async function configure(
  resource: string,
  webhooks: JsonObject[],
  name = `rules-${++names.counter}`,
) {
  await harness.create(resource, { metadata: { name }, webhooks });
  stored.push([resource, name]);
}

export const validating = (changes: JsonObject = {}) => configure(VALIDATING, [webhook(changes)]);
export const mutating = (changes: JsonObject = {}) => configure(MUTATING, [webhook(changes)]);

export function configMap(changes: JsonObject = {}): JsonObject {
  const { metadata, ...rest } = changes;
  return {
    metadata: { name: `map-${++names.counter}`, ...(metadata as JsonObject) },
    data: { a: "1" },
    ...rest,
  };
}

/** Takes back every configuration. */
export async function removeAll(): Promise<void> {
  for (const [resource, name] of stored.splice(0)) await harness.remove(resource, name);
}

export async function refusal(promise: Promise<unknown>): Promise<StatusError> {
  const error = await promise.then(
    () => assert.fail("was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatusError, String(error));
  return error;
}
