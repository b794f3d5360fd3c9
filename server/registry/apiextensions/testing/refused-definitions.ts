/**
 * Definitions that kube-apiserver refuses, a mistake each. What it says of them stands in
 * refused-definitions.test.ts; `npm run test:upstream` asks both servers again.
 */
import type { JsonObject } from "../../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../../api/naming.js";

const { groupDomain, labelDomain } = createNaming(DEFAULT_VENDOR);
const PROTECTED = `things.${groupDomain}`;
const text = { type: "string" };
const TYPE = { type: "object" };

const version = (more: object = {}) => ({
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object" } },
  ...more,
});

function definition(spec: object, metadata: object = {}): JsonObject {
  return {
    apiVersion: `apiextensions.${groupDomain}/v1`,
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com", ...metadata },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [version()],
      ...spec,
    },
  } as JsonObject;
}

const names = (more: object) => definition({ names: { plural: "things", kind: "Thing", ...more } });
const ofVersion = (more: object) => definition({ versions: [version(more)] });
const root = (schema: object) => ofVersion({ schema: { openAPIV3Schema: schema } });
/** Of the member "x". */
const schema = (x: object) => root({ ...TYPE, properties: { x } });
const list = (more: object) => schema({ type: "array", items: text, ...more });
const rules = (x: object, ...validations: readonly object[]) =>
  schema({ ...x, "x-kubernetes-validations": validations });
const column = (more: object) =>
  ofVersion({ additionalPrinterColumns: [{ name: "C", type: "string", jsonPath: ".x", ...more }] });
const scale = (more: object) =>
  ofVersion({
    subresources: {
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        ...more,
      },
    },
  });
const select = (...jsonPaths: readonly string[]) =>
  ofVersion({
    schema: {
      openAPIV3Schema: {
        ...TYPE,
        properties: {
          spec: { ...TYPE, properties: { a: text, l: { type: "array", items: text } } },
        },
      },
    },
    selectableFields: jsonPaths.map((jsonPath) => ({ jsonPath })),
  });
const convert = (conversion: object) => definition({ conversion });
const client = { url: "https://hooks.example.com" };
const webhook = (more: object) =>
  convert({
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: client, ...more },
  });

export const REFUSED: Readonly<Record<string, JsonObject>> = {
  "a name that is not plural and group": definition({}, { name: "others.example.com" }),
  "no group": definition({ group: "" }, { name: "things." }),
  "a group of one word": definition({ group: "example" }, { name: "things.example" }),
  "a group in capitals": definition({ group: "Example.com" }, { name: "things.Example.com" }),
  "no scope": definition({ scope: "" }),
  "a scope that is none": definition({ scope: "Global" }),
  "no versions": definition({ versions: [] }),
  "versions without a stored one": ofVersion({ storage: false }),
  "two stored versions": definition({ versions: [version(), version({ name: "v2" })] }),
  "a version twice": definition({ versions: [version(), version({ storage: false })] }),
  "a version with a bad name": ofVersion({ name: "1.0" }),
  "a version without a name": ofVersion({ name: "" }),
  "a deprecation warning without deprecation": ofVersion({ deprecationWarning: "old" }),
  "an empty deprecation warning": ofVersion({ deprecated: true, deprecationWarning: "" }),
  "a deprecation warning in two lines": ofVersion({ deprecated: true, deprecationWarning: "a\nb" }),
  "a deprecation warning that is too long": ofVersion({
    deprecated: true,
    deprecationWarning: "x".repeat(257),
  }),
  "a version without a schema": definition({
    versions: [{ name: "v1", served: true, storage: true }],
  }),
  "an empty schema": ofVersion({ schema: {} }),
  "no plural": names({ plural: "" }),
  "no kind": names({ kind: "" }),
  "a plural in capitals": names({ plural: "Things" }),
  "a singular with a space": names({ singular: "a thing" }),
  "a kind with a dot": names({ kind: "Thing.X" }),
  "kind and listKind the same": names({ listKind: "Thing" }),
  "a short name in capitals": names({ shortNames: ["TH"] }),
  "a category with a slash": names({ categories: ["a/b"] }),
  "unknown fields kept by all": definition({ preserveUnknownFields: true }),

  "a conversion that is none": convert({ strategy: "Magic" }),
  "no conversion strategy": convert({ strategy: "" }),
  "a webhook beside the strategy None": convert({
    strategy: "None",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: client },
  }),
  "the strategy Webhook without a webhook": convert({ strategy: "Webhook" }),
  "a webhook without a client": convert({
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"] },
  }),
  "a webhook without versions": webhook({ conversionReviewVersions: [] }),
  "a webhook of unknown versions": webhook({ conversionReviewVersions: ["v9"] }),
  "a webhook with a bad version": webhook({ conversionReviewVersions: ["v1", "1.0"] }),
  "a webhook version twice": webhook({ conversionReviewVersions: ["v1", "v1"] }),
  "a webhook without address": webhook({ clientConfig: {} }),
  "a webhook with two addresses": webhook({
    clientConfig: { ...client, service: { name: "a", namespace: "b" } },
  }),
  "a webhook over http": webhook({ clientConfig: { url: "http://hooks.example.com" } }),
  "a webhook with a query": webhook({ clientConfig: { url: "https://hooks.example.com/?a=b" } }),
  "a webhook with a password": webhook({ clientConfig: { url: "https://a:b@hooks.example.com" } }),
  "a webhook service without names": webhook({
    clientConfig: { service: { name: "", namespace: "" } },
  }),
  "a webhook service with a bad port": webhook({
    clientConfig: { service: { name: "a", namespace: "b", port: 70_000 } },
  }),
  "a webhook service with a bad path": webhook({
    clientConfig: { service: { name: "a", namespace: "b", path: "x//y" } },
  }),
  "a webhook service with a path in capitals": webhook({
    clientConfig: { service: { name: "a", namespace: "b", path: "/Convert" } },
  }),

  "a column without a name": column({ name: "" }),
  "a column without a type": column({ type: "" }),
  "a column of an unknown type": column({ type: "object" }),
  "a column with an unknown format": column({ format: "color" }),
  "a column without a path": column({ jsonPath: "" }),
  "a column with a broken path": column({ jsonPath: ".a[" }),
  "a column with a path without a dot": column({ jsonPath: "a" }),
  "a scale without paths": scale({ specReplicasPath: "", statusReplicasPath: "" }),
  "a scale of spec in status": scale({ specReplicasPath: ".status.replicas" }),
  "a scale of status in spec": scale({ statusReplicasPath: ".spec.replicas" }),
  "a scale with a list": scale({ specReplicasPath: ".spec.list[0]" }),
  "a scale with a selector in metadata": scale({ labelSelectorPath: ".metadata.labels" }),
  "a selectable field without a path": select(""),
  "a selectable field that is a list": select(".spec.l"),
  "a selectable field that is not there": select(".spec.b"),
  "a selectable field of metadata": select(".metadata.name"),
  "a selectable field twice": select(".spec.a", ".spec.a"),
  "a selectable field in a list": select(".spec.l[0]"),
  "selectable fields without a schema": ofVersion({
    schema: undefined,
    selectableFields: [{ jsonPath: ".spec.a" }],
  }),
  "nine selectable fields": select(...Array.from("abcdefghi", (name) => `.spec.${name}`)),

  "a root without a type": root({ properties: { x: text } }),
  "a root that is a text": root(text),
  "a root that may be null": root({ ...TYPE, nullable: true }),
  "a member without a type": schema({}),
  "a type that is none": schema({ type: "money" }),
  "a list without items": schema({ type: "array" }),
  "a list of several items": schema({ type: "array", items: [text] }),
  "additional items of any kind": list({ additionalItems: {} }),
  "properties beside additionalProperties": schema({
    ...TYPE,
    properties: { a: text },
    additionalProperties: text,
  }),
  "no additional properties": schema({ ...TYPE, additionalProperties: false }),
  "a type inside anyOf": schema({ ...text, anyOf: [{ type: "string" }] }),
  "a description inside allOf": schema({ ...text, allOf: [{ description: "d" }] }),
  "a default inside oneOf": schema({ ...text, oneOf: [{ default: "a" }] }),
  "nullable inside not": schema({ ...text, not: { nullable: true } }),
  "additionalProperties inside anyOf": schema({ ...TYPE, anyOf: [{ additionalProperties: text }] }),
  "a reference": schema({ $ref: "#/definitions/a" }),
  "an id": schema({ ...text, id: "a" }),
  definitions: schema({ ...TYPE, definitions: { a: text } }),
  dependencies: schema({ ...TYPE, dependencies: { a: ["b"] } }),
  patternProperties: schema({ ...TYPE, patternProperties: { a: text } }),
  additionalItems: list({ additionalItems: false }),
  uniqueItems: list({ uniqueItems: true }),
  "a broken pattern": schema({ ...text, pattern: "(" }),
  "a minimum above the maximum": schema({ type: "integer", minimum: 5, maximum: 1 }),
  "a negative length": schema({ ...text, maxLength: -1 }),
  "metadata with a rule of its own": root({
    ...TYPE,
    properties: {
      metadata: { ...TYPE, properties: { finalizers: { type: "array", items: text } } },
    },
  }),
  "metadata that is a text": root({ ...TYPE, properties: { metadata: text } }),
  "a kind that is a number": root({ ...TYPE, properties: { kind: { type: "integer" } } }),

  "unknown fields not kept": schema({ ...TYPE, "x-kubernetes-preserve-unknown-fields": false }),
  "unknown fields of a text": schema({ ...text, "x-kubernetes-preserve-unknown-fields": true }),
  "an embedded resource that is a text": schema({
    ...text,
    "x-kubernetes-embedded-resource": true,
  }),
  "an embedded resource without members": schema({
    ...TYPE,
    "x-kubernetes-embedded-resource": true,
  }),
  "an int-or-string with a type": schema({ type: "integer", "x-kubernetes-int-or-string": true }),
  "an int-or-string inside anyOf": schema({
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "string" }, { type: "boolean" }],
  }),
  "a list type of a text": schema({ ...text, "x-kubernetes-list-type": "set" }),
  "a list type that is none": list({ "x-kubernetes-list-type": "bag" }),
  "a map list of texts": list({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
  }),
  "a map list without keys": list({
    items: { ...TYPE, properties: { a: text } },
    "x-kubernetes-list-type": "map",
  }),
  "a map list with a key that is not there": list({
    items: { ...TYPE, properties: { a: text }, required: ["a"] },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["b"],
  }),
  "a map list with an optional key": list({
    items: { ...TYPE, properties: { a: text } },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
  }),
  "a map list with a key twice": list({
    items: { ...TYPE, properties: { a: text }, required: ["a"] },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a", "a"],
  }),
  "a map list with an object as key": list({
    items: { ...TYPE, properties: { a: TYPE }, required: ["a"] },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
  }),
  "keys of a list that is no map": list({ "x-kubernetes-list-map-keys": ["a"] }),
  "a set of objects": list({ items: TYPE, "x-kubernetes-list-type": "set" }),
  "a set of lists": list({
    items: { type: "array", items: text },
    "x-kubernetes-list-type": "set",
  }),
  "a set of what may be null": list({
    items: { ...text, nullable: true },
    "x-kubernetes-list-type": "set",
  }),
  "a map type of a list": list({ "x-kubernetes-map-type": "atomic" }),
  "a map type that is none": schema({ ...TYPE, "x-kubernetes-map-type": "loose" }),

  "a default of another type": schema({ ...text, default: 5 }),
  "a default that its format alone judges": schema({ ...TYPE, format: "date", default: "a" }),
  "a default that no format judges": schema({ ...TYPE, format: "of-my-own", default: "a" }),
  "a default that is pruned": schema({ ...TYPE, properties: { a: text }, default: { b: 1 } }),
  "a default beyond the bounds": schema({ type: "integer", maximum: 3, default: 4 }),
  "a default that is null": schema({ ...text, default: null }),
  "a default outside of the enum": schema({ ...text, enum: ["a"], default: "b" }),
  "a default of metadata": root({ ...TYPE, properties: { metadata: { ...TYPE, default: {} } } }),
  "a default that breaks its rule": schema({
    ...text,
    default: "b",
    "x-kubernetes-validations": [{ rule: "self == 'a'" }],
  }),

  "a rule that is empty": rules(text, { rule: "" }),
  "a rule without an expression": rules(text, { rule: " " }),
  "a rule with an empty message": rules(text, { rule: "true", message: " " }),
  "a rule with a message of two lines": rules(text, { rule: "true", message: "a\nb" }),
  "a rule with a long message": rules(text, { rule: "true", message: "x".repeat(2049) }),
  "a rule of two lines without a message": rules(text, { rule: "true ||\nfalse" }),
  "a rule with an unknown reason": rules(text, { rule: "true", reason: "Whim" }),
  "a rule with a path that is not there": rules(
    { ...TYPE, properties: { a: text } },
    { rule: "true", fieldPath: ".b" },
  ),
  "a rule with a broken path": rules(
    { ...TYPE, properties: { a: text } },
    { rule: "true", fieldPath: "a" },
  ),
  "a rule with an empty message expression": rules(text, { rule: "true", messageExpression: " " }),
  "a rule with optionalOldSelf that has no oldSelf": rules(text, {
    rule: "self == 'a'",
    optionalOldSelf: true,
  }),
  "oldSelf in a list without keys": list({
    items: { ...text, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
  }),
  "a rule that costs too much": list({
    items: { ...text, "x-kubernetes-validations": [{ rule: "self.matches('a+')" }] },
  }),
  "a group that is protected": definition({ group: PROTECTED }, { name: `things.${PROTECTED}` }),
  "a protected group with a broken approval": definition(
    { group: PROTECTED },
    { name: `things.${PROTECTED}`, annotations: { [`api-approved.${labelDomain}`]: "yes" } },
  ),
};

/** A cause without the list of versions that it shows: there it is in the form of the program's memory. */
export function withoutVersions(cause: string): string {
  const list =
    /^((?:spec\.versions: )?Invalid value: )\[.*\](?=: must (?:have exactly one|contain unique) version)/s;
  return cause.replace(list, "$1[...]");
}
