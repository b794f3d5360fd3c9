/** Rules for definitions of types: what is accepted, what is refused and how. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkChanges, checkProblems, problemsOf, type TestObject } from "../testing/problems.js";

const version = {
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object" } },
};
const definition = (spec: object, names: object = {}): TestObject => ({
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing", ...names },
    versions: [version],
    ...spec,
  },
});

test("definitions of types are accepted or refused by their rules, field by field", () => {
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition({})],
    [
      definition({ group: "example" }),
      'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    [
      definition({ scope: "Wide" }),
      'spec.scope: Unsupported value: "Wide": supported values: "Cluster", "Namespaced"',
    ],
    [
      definition({ versions: [{ ...version, schema: null }] }),
      "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
    ],
    [definition({ versions: [] }), "spec.versions: Required value"],
    [
      definition({ versions: [{ ...version, storage: false }] }),
      'spec.versions: Invalid value: [{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]: must have exactly one version marked as storage version',
    ],
    [
      definition({ versions: [version, { ...version, storage: false }] }),
      'spec.versions[1].name: Duplicate value: "v1"',
    ],
    [
      definition({ versions: [{ ...version, name: "1" }] }),
      "spec.versions[0].name: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [
      definition({}, { kind: "Thing", listKind: "Thing" }),
      'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
    ],
    [
      definition({}, { kind: "thing!" }),
      "spec.names.singular: Invalid value: \"thing!\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.kind: Invalid value: \"thing!\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.listKind: Invalid value: \"thing!List\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [
      definition({}, { singular: "Thing", shortNames: ["T"], categories: ["a b"] }),
      "spec.names.singular: Invalid value: \"Thing\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.shortNames[0]: Invalid value: \"T\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.names.categories[0]: Invalid value: \"a b\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
    [definition({}, { kind: "" }), "spec.names.kind: Required value"],
    [
      definition({ conversion: { strategy: "Magic" } }),
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    [
      definition({ conversion: { strategy: "Webhook" } }),
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
    ],
    [
      definition({ preserveUnknownFields: true }),
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    ],
  ]);
});

test("one version of a type is stored, not two", () => {
  const two = [version, { ...version, name: "v2" }];
  const [problem = ""] = problemsOf(
    "apiextensions.k8s.io/v1/customresourcedefinitions",
    definition({ versions: two }),
  );
  assert.match(problem, /must have exactly one version marked as storage version$/);
});

test("a definition keeps its scope and the versions that objects are stored in", () => {
  checkChanges("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition({}), definition({}, { shortNames: ["th"] })],
    [
      definition({}),
      definition({ scope: "Cluster" }),
      'spec.scope: Invalid value: "Cluster": field is immutable',
    ],
    [
      definition({}),
      definition({ versions: [{ ...version, name: "v2" }] }),
      'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
    ],
  ]);
});
