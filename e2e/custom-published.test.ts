/** What clients learn of a custom kind, as kube-apiserver publishes it: discovery, schemas and the forms of answers. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS = "/apis/example.com/v1/namespaces/default/sails";

const SPEC = {
  type: "object",
  properties: {
    replicas: { type: "integer" },
    s: { type: "string" },
    size: { "x-kubernetes-int-or-string": true },
    odd: { "x-kubernetes-int-or-string": true, anyOf: [{ minimum: 1 }] },
    template: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { spec: { type: "object" } },
      required: ["spec", "kind"],
    },
    free: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    },
  },
};

const STATUS = { type: "object", properties: { replicas: { type: "integer" } } };
const VERSION = versionOf(
  { type: "object", properties: { spec: SPEC, status: STATUS } },
  {
    selectableFields: [{ jsonPath: ".spec.s" }],
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
  },
);
const DEFINITION = definitionOf("sails.example.com", "Sail", { versions: [VERSION] });

const KIND = { apiVersion: "example.com/v1", kind: "Sail" };

const ALL_VERBS = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];
const PART_VERBS = ["get", "patch", "update"];

describe("what is published of a custom kind", () => {
  let server: ServerProcess;
  let client: HttpsClient;

  before(async () => {
    server = await startServer({ flags: ["--run-controllers"] });
    client = server.client;
    (await client.post(DEFINITIONS, DEFINITION)).expect(201);
    await eventually("the kind is served", async () => (await client.get(OBJECTS)).status === 200);
  });
  after(() => server?.[Symbol.asyncDispose]());

  test("D20: a resource list has status before scale, and one hash of the storage version", async () => {
    const { object } = (await client.get("/apis/example.com/v1")).expect(200);
    const [main, ...parts] = object.resources as { storageVersionHash?: string }[];
    const { storageVersionHash = "", ...rest } = main ?? assert.fail();
    assert.match(storageVersionHash, /^[\w+/]{11}=$/);
    const own = { namespaced: true, kind: "Sail" };
    assert.deepEqual(rest, { ...own, name: "sails", singularName: "sail", verbs: ALL_VERBS });
    assert.deepEqual(parts, [
      { ...own, name: "sails/status", singularName: "", verbs: PART_VERBS },
      {
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        name: "sails/scale",
        singularName: "",
        namespaced: true,
        verbs: PART_VERBS,
      },
    ]);
  });

  test("D20: aggregated discovery names the group and version of a custom kind", async () => {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const { object } = (await client.get("/apis", accept)).expect(200);
    const groups = object.items as { metadata: { name: string }; versions: object[] }[];
    const own = { group: "example.com", version: "v1", kind: "Sail" };
    const scale = { group: "autoscaling", version: "v1", kind: "Scale" };
    assert.deepEqual(groups.find(({ metadata }) => metadata.name === "example.com")?.versions, [
      {
        version: "v1",
        freshness: "Current",
        resources: [
          {
            resource: "sails",
            responseKind: own,
            scope: "Namespaced",
            singularResource: "sail",
            verbs: ALL_VERBS,
            subresources: [
              { subresource: "status", responseKind: own, verbs: PART_VERBS },
              { subresource: "scale", responseKind: scale, verbs: PART_VERBS },
            ],
          },
        ],
      },
    ]);
  });

  interface Schema {
    readonly [keyword: string]: unknown;
    readonly properties: Readonly<Record<string, Schema>>;
  }

  async function schemasOf(path: string): Promise<[main: Schema, list: Schema]> {
    const schemas = await eventually(`the kind is in ${path}`, async () => {
      const { object } = await client.get(path);
      const { components, definitions } = object as {
        components?: { schemas: Record<string, Schema> };
        definitions?: Record<string, Schema>;
      };
      const all = components?.schemas ?? definitions;
      return all?.["com.example.v1.Sail"] === undefined ? undefined : all;
    });
    const { "com.example.v1.Sail": main, "com.example.v1.SailList": list } = schemas;
    return [main ?? assert.fail(), list ?? assert.fail()];
  }

  test("D20: a schema has what every object has, and what embedded resources and int-or-string mean", async () => {
    const [main, list] = await schemasOf("/openapi/v3/apis/example.com/v1");
    const { apiVersion, kind, metadata, spec } = main.properties;
    for (const member of [apiVersion, kind, metadata]) assert.ok(member?.description);
    const metadataType = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert.deepEqual(metadata?.allOf, [{ $ref: metadataType }]);
    const { size, odd, template, free } = spec?.properties ?? {};
    const pair = [{ type: "integer" }, { type: "string" }];
    assert.deepEqual(size, { "x-kubernetes-int-or-string": true, anyOf: pair });
    assert.deepEqual(odd?.allOf, [{ anyOf: pair }]);
    assert.deepEqual(template?.required, ["spec", "kind", "apiVersion"]);
    assert.deepEqual(template.properties, { spec: { type: "object" }, apiVersion, kind, metadata });
    assert.deepEqual(free?.properties, { apiVersion, kind, metadata });
    const selectable = [{ fieldPath: "spec.s" }];
    assert.deepEqual(main["x-kubernetes-selectable-fields"], selectable);
    assert.deepEqual(list["x-kubernetes-selectable-fields"], selectable);
  });

  test("D20: in v2 a reference has neighbours, and an open embedded resource no members", async () => {
    const [main] = await schemasOf("/openapi/v2");
    const { metadata, spec } = main.properties;
    const metadataType = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert.deepEqual(metadata, { $ref: metadataType, description: metadata?.description });
    const { size, template, free } = spec?.properties ?? {};
    assert.deepEqual(size, { "x-kubernetes-int-or-string": true });
    assert.deepEqual(template?.properties.metadata, metadata);
    assert.equal(free?.properties, undefined);
  });

  test("D24: Tables and metadata come in meta.k8s.io/v1beta1 too", async () => {
    const sail = { apiVersion: "example.com/v1", kind: "Sail", metadata: { name: "jib" } };
    (await client.post(OBJECTS, sail)).expect(201);
    const older = (form: string) => `application/json;as=${form};v=v1beta1;g=meta.k8s.io`;
    const { object: table } = (await client.get(OBJECTS, older("Table"))).expect(200);
    assert.equal(table.apiVersion, "meta.k8s.io/v1beta1");
    const [row] = table.rows as { object: { kind: string; apiVersion: string } }[];
    assert.equal(row?.object.kind, "PartialObjectMetadata");
    assert.equal(row.object.apiVersion, "meta.k8s.io/v1beta1");
    for (const [path, form] of [
      [`${OBJECTS}/jib`, "Table"],
      [`${OBJECTS}/jib`, "PartialObjectMetadata"],
      [OBJECTS, "PartialObjectMetadataList"],
      ["/api/v1/namespaces", "PartialObjectMetadataList"],
    ] as const) {
      const { object } = (await client.get(path, older(form))).expect(200);
      assert.deepEqual([object.kind, object.apiVersion], [form, "meta.k8s.io/v1beta1"]);
      // The other version is another answer.
      const newer = (await client.get(path, older(form).replace("v1beta1", "v1"))).expect(200);
      assert.equal(newer.object.apiVersion, "meta.k8s.io/v1");
    }
    const none = (await client.get(`${OBJECTS}?includeObject=None`, older("Table"))).expect(200);
    assert.equal((none.object.rows as { object: unknown }[])[0]?.object, null);
    (await client.get(`${OBJECTS}?includeObject=All`, older("Table"))).expect(400);
    for (const form of ["Table", "PartialObjectMetadata"]) {
      const headers = { accept: older(form) };
      const path = `${OBJECTS}?watch=1&timeoutSeconds=1`;
      const { text } = (await client.request(path, { headers })).expect(200);
      const { object } = JSON.parse(text.split("\n", 1)[0] ?? "");
      assert.deepEqual([object.kind, object.apiVersion], [form, "meta.k8s.io/v1beta1"]);
    }
    const message = older("PartialObjectMetadata").replace("json", "vnd.kubernetes.protobuf");
    const { bytes } = (await client.get("/api/v1/namespaces/default", message)).expect(200);
    assert.ok(bytes.includes("meta.k8s.io/v1beta1") && bytes.includes("PartialObjectMetadata"));
  });

  test("D18: an embedded resource that is none in its types is a bad request, and finalizers are free", async () => {
    const sail = (free: object) => ({ metadata: { name: "odd" }, ...KIND, spec: { free } });
    const message = async (free: object) => {
      const { status, object } = await client.post(`${OBJECTS}?dryRun=All`, sail(free));
      return `${status} ${object.message ?? ""}`;
    };
    const start = '400 Sail in version "v1" cannot be handled as a Sail: spec.free.';
    const pod = { apiVersion: "v1", kind: "Pod" };
    assert.equal(
      await message({ ...pod, apiVersion: 1 }),
      `${start}apiVersion: Invalid value: 1: must be a string`,
    );
    assert.equal(
      await message({ ...pod, metadata: "x" }),
      `${start}metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta`,
    );
    assert.equal(await message({ ...pod, metadata: { finalizers: ["mine"] } }), "201 ");
  });

  test("unknown fields are told in the order of their paths", async () => {
    const sail = { ...KIND, metadata: { name: "odd" }, spec: { z: 1, a: 1 }, b: 1 };
    const { object } = (
      await client.post(`${OBJECTS}?dryRun=All&fieldValidation=Strict`, sail)
    ).expect(400);
    const told = 'unknown field "b", unknown field "spec.a", unknown field "spec.z"';
    assert.ok(String(object.message).endsWith(told), String(object.message));
  });
});
