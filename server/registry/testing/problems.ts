/**
 * For tests of rules: the errors of a built-in kind's object, or of a change of one, found by the same
 * steps as in a write. Returns "field: message" lines.
 */
import assert from "node:assert/strict";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { validateMetadata, validateMetadataUpdate } from "../../api/validation-metadata.js";
import { createFactsCodecs } from "../../kinds/facts-codecs.js";
import type { MainResource } from "../../kinds/served-resource.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { createUser } from "../../request/user-info.js";
import { loadFacts } from "../../types/load-facts.js";
import { createBuiltInCatalog } from "../built-in-catalog.js";
import { createDeclarativeValidation, type Mismatch } from "../generic/declarative-validation.js";
import { joinProblems } from "../generic/join-problems.js";

const naming = createNaming("kubernetes");
const facts = loadFacts(naming);
const isGateEnabled = (gate: string) => gate === "DeclarativeValidation";
const codecs = createFactsCodecs(facts, { isRuleGateEnabled: isGateEnabled });
const catalog = createBuiltInCatalog({ naming, facts, codecs, isEnabled: () => true });
/** Disagreements between the facts' rules and the hand-written ones since the last reset. */
export const mismatches: Mismatch[] = [];
const declarative = createDeclarativeValidation({
  isGateEnabled,
  onMismatch: (mismatch) => mismatches.push(mismatch),
});

/** How much of an object a failure message quotes. */
const SHOWN_CHARS_MAX = 500;

const context: StrategyContext = {
  nowMs: Date.parse("2030-01-02T03:04:05Z"),
  subresource: "",
  naming,
  user: createUser({ name: "ann", groups: ["dev"] }),
};

/** An object as tests write it: metadata is filled in. */
export type TestObject = Readonly<Record<string, unknown>>;

/** @param name "apps/v1/deployments" or "v1/pods". @throws when there is none */
export function resourceOf(name: string): MainResource {
  const parts = name.split("/");
  const resource = parts.pop() ?? "";
  const version = parts.pop() ?? "";
  const group = naming.group(parts.pop() ?? "");
  const found = catalog.findMain(group, version, resource);
  if (found === undefined) throw new Error(`no resource ${name}`);
  return found;
}

function complete({ group, version, kind, isNamespaced }: MainResource, object: TestObject) {
  const metadata = {
    name: "x",
    ...(isNamespaced ? { namespace: "default" } : {}),
    ...(object.metadata as object),
  };
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { ...structuredClone(object), apiVersion, kind, metadata } as JsonObject;
}

/** The object as a create would store it, with its errors. */
function prepared(name: string, object: TestObject): { stored: ApiObject; problems: string[] } {
  const resource = resourceOf(name);
  const { codec, storedCodec, conversion, strategy, isNamespaced } = resource;
  const { object: served } = codec.decode(complete(resource, object));
  codec.applyDefaults(served);
  const facts = codec.validate(served);
  const stored = conversion === undefined ? served : conversion.toStored(served);
  if (conversion !== undefined) storedCodec.applyDefaults(stored);
  strategy.prepareForCreate?.(stored, context);
  const metadata = validateMetadata(stored.metadata, {
    isNamespaced,
    checkName: strategy.validateName,
    namespaceFinalizer: naming.namespaceFinalizer,
    finalizers: strategy.finalizers,
  });
  const own = strategy.validate?.(stored, context) ?? [];
  const errors = joinProblems({ facts, metadata, own, ownFields: strategy.ownFields });
  const all = declarative.judge(resource, { next: stored, current: undefined }, errors);
  return { stored, problems: all.map(({ field, message }) => `${field}: ${message}`) };
}

/** The object as a create would store it. */
export function storedOf(name: string, object: TestObject): ApiObject {
  return prepared(name, object).stored;
}

/** The errors of creating the object. */
export function problemsOf(name: string, object: TestObject): string[] {
  return prepared(name, object).problems;
}

/** An object and the expected error lines; none = it must be accepted. */
export type ProblemRow = readonly [object: TestObject, ...problems: string[]];

export function checkProblems(resource: string, rows: readonly ProblemRow[]): void {
  for (const [object, ...expected] of rows) {
    const shown = `${resource} ${JSON.stringify(object).slice(0, SHOWN_CHARS_MAX)}`;
    assert.deepEqual(problemsOf(resource, object), expected, shown);
  }
}

/** The errors of a change from one object to another. */
export function changeProblems(
  name: string,
  before: TestObject,
  after: TestObject,
  subresource = "",
): string[] {
  const resource = resourceOf(name);
  const { codec, conversion, strategy, isNamespaced } = resource;
  const stored = JSON.parse(
    resource.storedCodec.encode(prepared(name, before).stored),
  ) as ApiObject;
  const current: ApiObject = { ...stored, ...(before.status ? { status: before.status } : {}) };
  const { object: served } = codec.decode(complete(resource, after));
  codec.applyDefaults(served);
  const facts = subresource === "" ? codec.validate(served) : [];
  const next = conversion === undefined ? served : conversion.toStored(served);
  const wanted: ApiObject =
    subresource === "status"
      ? { ...structuredClone(current), status: next.status }
      : { ...next, status: structuredClone(current.status) };
  if (wanted.status === undefined) delete wanted.status;
  strategy.prepareForUpdate?.(wanted, current, { ...context, subresource });
  const metadata = [
    ...validateMetadata(wanted.metadata, {
      isNamespaced,
      checkName: strategy.validateName,
      namespaceFinalizer: naming.namespaceFinalizer,
      finalizers: strategy.finalizers,
    }),
    ...validateMetadataUpdate(wanted.metadata, current.metadata),
  ];
  const own = strategy.validateUpdate?.(wanted, current, { ...context, subresource }) ?? [];
  const errors = joinProblems({ facts, metadata, own, ownFields: strategy.ownFields });
  const all =
    subresource === "" ? declarative.judge(resource, { next: wanted, current }, errors) : errors;
  return all.map(({ field, message }) => `${field}: ${message}`);
}

/** An object, its next state, and the expected error lines; none = it must be accepted. */
export type ChangeRow = readonly [before: TestObject, after: TestObject, ...problems: string[]];

export function checkChanges(resource: string, rows: readonly ChangeRow[]): void {
  for (const [before, after, ...expected] of rows) {
    const [from, to] = [before, after].map((one) => JSON.stringify(one).slice(0, SHOWN_CHARS_MAX));
    assert.deepEqual(
      changeProblems(resource, before, after),
      expected,
      `${resource} ${from} -> ${to}`,
    );
  }
}

/** Every resource that stores something, in every version. */
export const storedResources: readonly MainResource[] = catalog.resources.filter(
  (resource) => resource.form === "main",
);
