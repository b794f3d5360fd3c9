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

const withDefault = { type: "object", properties: { a: { type: "string", default: "b" } } };
const selectableFields = [{ jsonPath: ".a" }];

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
      "spec.versions[0].schema.openAPIV3Schema: Required value",
    ],
    [
      definition({ versions: [] }),
      "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
      "status.storedVersions: Invalid value: null: must have at least one stored version",
    ],
    [
      definition({ versions: undefined }),
      "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
      "status.storedVersions: Invalid value: null: must have at least one stored version",
    ],
    [
      definition({ versions: [{ ...version, storage: false }] }),
      'spec.versions: Invalid value: [{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]: must have exactly one version marked as storage version',
      "status.storedVersions: Invalid value: null: must have at least one stored version",
    ],
    [
      definition({ versions: [version, { ...version, storage: false }] }),
      `spec.versions: Invalid value: ${JSON.stringify([version, { ...version, storage: false }])}: must contain unique version names`,
    ],
    [
      definition({ versions: [{ ...version, name: "1" }] }),
      "spec.versions[0].name: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.version: Invalid value: \"1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
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
    [
      definition({}, { kind: "" }),
      "spec.names.kind: Required value",
      "spec.names.singular: Required value",
      "spec.names.listKind: Required value",
    ],
    [definition({ conversion: { strategy: "" } }), "spec.conversion.strategy: Required value"],
    [
      definition({ conversion: { strategy: "Magic" } }),
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    [
      definition({ conversion: { strategy: "Webhook" } }),
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
      "spec.conversion.conversionReviewVersions: Required value",
    ],
    [
      definition({ preserveUnknownFields: true }),
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    ],
    [
      definition({
        preserveUnknownFields: true,
        versions: [{ ...version, schema: { openAPIV3Schema: withDefault } }],
      }),
      "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
    ],
    [
      definition({
        versions: [
          { ...version, selectableFields, schema: { openAPIV3Schema: withDefault } },
          { ...version, selectableFields, name: "v2", storage: false, schema: undefined },
        ],
      }),
      "spec.versions[1].schema.openAPIV3Schema: Required value",
      'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
    ],
    [
      definition({
        versions: [
          { ...version, selectableFields, schema: { openAPIV3Schema: withDefault } },
          {
            ...version,
            name: "v2",
            storage: false,
            schema: { openAPIV3Schema: withDefault },
          },
        ],
      }),
      'spec.versions[0].selectableFields: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` is not included',
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

const established = {
  conditions: [{ type: "Established", status: "True", reason: "", message: "" }],
};

test("a definition keeps its scope and the versions that objects are stored in", () => {
  checkChanges("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition({}), definition({}, { shortNames: ["th"] })],
    // A definition that is not served has no stored objects that the scope would have to fit.
    [{ ...definition({}), status: { storedVersions: ["v1"] } }, definition({ scope: "Cluster" })],
    [
      { ...definition({}), status: established },
      { ...definition({ scope: "Cluster" }), status: established },
      'spec.scope: Invalid value: "Cluster": field is immutable',
    ],
    ...[
      { type: "object" },
      { type: "object", properties: { a: { type: "string", default: "b" } } },
    ].map((openAPIV3Schema, index): [TestObject, TestObject, ...string[]] => [
      definition({ preserveUnknownFields: true }),
      definition({
        preserveUnknownFields: true,
        versions: [{ ...version, schema: { openAPIV3Schema } }],
      }),
      ...(index === 0
        ? []
        : [
            "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
          ]),
    ]),
    [
      { ...definition({}), status: { storedVersions: ["v1"] } },
      {
        ...definition({ versions: [{ ...version, name: "v2" }] }),
        status: { storedVersions: ["v1", "v2"] },
      },
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ],
  ]);
});

test("parts that all versions share are told under the spec, others under their version", () => {
  const withSchema = (name: string, x: object, more: object = {}) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties: { x } } },
    ...more,
  });
  const columns = { additionalPrinterColumns: [{ name: "A", type: "text", jsonPath: "a" }] };
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [
      definition({ versions: [withSchema("v1", {}, columns)] }),
      "spec.validation.openAPIV3Schema.properties[x].type: Required value: must not be empty for specified object fields",
      'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ],
    [
      definition({
        versions: [
          withSchema("v1", { type: "string" }),
          withSchema("v2", {}, { deprecationWarning: "old", subresources: { scale: {} } }),
        ],
      }),
      'spec.versions[1].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
      "spec.versions[1].schema.openAPIV3Schema.properties[x].type: Required value: must not be empty for specified object fields",
      "spec.versions[1].subresources.scale.specReplicasPath: Required value",
      "spec.versions[1].subresources.scale.statusReplicasPath: Required value",
    ],
  ]);
});

test("selectable fields are plain paths to single values of the schema", () => {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "array", items: { type: "string" } } },
        },
      },
    },
  };
  const selecting = (...paths: string[]) =>
    definition({
      versions: [{ ...version, schema, selectableFields: paths.map((jsonPath) => ({ jsonPath })) }],
    });
  const why =
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [selecting(".spec.a")],
    [
      selecting(".spec.a", ".spec.a"),
      'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.a"',
    ],
    [selecting(".spec.b"), `spec.selectableFields[0].jsonPath: Invalid value: ".spec.b": ${why}`],
    [
      selecting(".spec.c"),
      'spec.selectableFields[0].jsonPath: Invalid value: ".spec.c": is an invalid path: does not refer to a valid field',
    ],
    [
      selecting(".metadata.name"),
      'spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
    ],
  ]);
});

test("a definition in a protected group says who approved it", () => {
  const named = (annotations?: object) => ({
    ...definition({ group: "things.k8s.io" }),
    metadata: { name: "things.things.k8s.io", ...(annotations && { annotations }) },
  });
  const approved = (value: string) => named({ "api-approved.kubernetes.io": value });
  const field = "metadata.annotations[api-approved.kubernetes.io]";
  checkProblems("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [approved("https://example.com/1")],
    [approved("unapproved, an experiment")],
    [
      named(),
      `${field}: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111`,
    ],
    [
      approved("yes"),
      `${field}: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
    ],
  ]);
});

test("a definition may keep what an older one did not know to be wrong", () => {
  const old = { ...version, schema: { openAPIV3Schema: { properties: { x: {} } } } };
  const listed = (items: object) => ({
    ...version,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { x: { type: "array", items, "x-kubernetes-list-type": "set" } },
      },
    },
  });
  const stored = { storedVersions: ["v1"] };
  const of = (one: object, names: object = {}) => ({
    ...definition({ versions: [one] }, names),
    status: stored,
  });
  checkChanges("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [of(old), of(old, { shortNames: ["th"] })],
    [of(listed({ type: "object" })), of(listed({ type: "object" }), { shortNames: ["th"] })],
    [
      of(listed({ type: "string" })),
      of(listed({ type: "object" })),
      "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
    ],
  ]);
});
