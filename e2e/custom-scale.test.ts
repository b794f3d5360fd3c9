/**
 * scale of custom objects where the definition's paths lead to nothing, or to what its schema does not take:
 * answered as kube-apiserver does, to which the same is sent by e2e/upstream.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ANYTHING, definitionOf, versionOf } from "./fixtures/definitions.js";
import type { Answer } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FLEETS = "/apis/scaled.example.com/v1/namespaces/default/fleets";
const MERGE = "application/merge-patch+json";
const MISSING = 'the spec replicas field ".spec.size.replicas"';

const integer = { type: "integer" };
const struct = (properties: object) => ({ type: "object", properties });
const PATHS = { specReplicasPath: ".spec.size.replicas", statusReplicasPath: ".status.replicas" };
const scaled = (spec: object, scale: object) =>
  versionOf(struct({ spec, status: struct({ replicas: integer }) }), { subresources: { scale } });
const sized = struct({ size: struct({ replicas: { ...integer, maximum: 10 } }) });
const definition = definitionOf("fleets.scaled.example.com", "Fleet", {
  versions: [scaled(sized, PATHS)],
});
/** The same without a schema for the spec. */
const LOOSE = FLEETS.replace("fleets", "loosefleets");
const looseDefinition = definitionOf("loosefleets.scaled.example.com", "LooseFleet", {
  versions: [scaled(ANYTHING, { ...PATHS, labelSelectorPath: ".spec.selector" })],
});
const scale = (spec: object) => ({ apiVersion: "autoscaling/v1", kind: "Scale", spec });

const server = await startServer();
before(async () => {
  for (const one of [definition, looseDefinition])
    (await server.client.post(DEFINITIONS, one)).expect(201);
});
after(() => server[Symbol.asyncDispose]());

async function make(name: string, spec: object): Promise<string> {
  const type = { apiVersion: "scaled.example.com/v1", kind: "Fleet" };
  (await server.client.post(FLEETS, { ...type, metadata: { name }, spec })).expect(201);
  return `${FLEETS}/${name}`;
}

const merge = (path: string, body: object): Promise<Answer> =>
  server.client.patch(`${path}/scale`, body, MERGE);

test("S1-GEN-03: the scale of an object without replicas is an error, not a scale of none", async () => {
  const path = await make("unset", {});
  const { object } = (await server.client.get(`${path}/scale`)).expect(500);
  assert.equal(object.reason, "InternalError");
  assert.equal(object.message, `Internal error occurred: ${MISSING} does not exist`);
  const { message } = (await merge(path, {})).expect(400).object;
  assert.equal(message, `${MISSING} cannot be empty`);
  const kept = (await server.client.get(path)).expect(200).object;
  assert.deepEqual(kept.spec, {});
  assert.deepEqual((await merge(path, { spec: { replicas: 3 } })).expect(200).object.spec, {
    replicas: 3,
  });
  assert.deepEqual((await server.client.get(`${path}/scale`)).expect(200).object.spec, {
    replicas: 3,
  });
});

test("S1-GEN-03: a replaced scale without replicas is one of none", async () => {
  const path = await make("replaced", {});
  const body = { ...scale({}), metadata: { name: "replaced" } };
  (await server.client.put(`${path}/scale`, body)).expect(200);
  const { spec } = (await server.client.get(path)).expect(200).object;
  assert.deepEqual(spec, { size: { replicas: 0 } });
});

test("S1-GEN-03: a scale that the schema of the object refuses is refused", async () => {
  const path = await make("bounded", { size: { replicas: 1 } });
  const causes = async (replicas: number) =>
    (await merge(path, { spec: { replicas } })).expect(422).object.details;
  const told = (field: string, message: string, reason = "FieldValueInvalid") => ({
    name: "bounded",
    group: "scaled.example.com",
    kind: "Fleet",
    causes: [{ reason, message, field }],
  });
  const tooMany =
    "Invalid value: 11: spec.size.replicas in body should be less than or equal to 10";
  assert.deepEqual(await causes(11), told("spec.size.replicas", tooMany));
  const negative = "Invalid value: -1: should be a non-negative integer";
  assert.deepEqual(await causes(-1), told(".spec.size.replicas", negative));
});

test("D17: an applied scale sets replicas at the path of the definition", async () => {
  const path = await make("applied", { size: { replicas: 1 } });
  const apply = (replicas: number, query = "") =>
    server.client.patch(
      `${path}/scale?fieldManager=scaler${query}`,
      { ...scale({ replicas }), metadata: { name: "applied" } },
      "application/apply-patch+yaml",
    );
  const { message } = (await apply(3)).expect(409).object;
  assert.match(String(message), / using autoscaling\/v1: \.spec\.size\.replicas$/);
  (await apply(3, "&force=true")).expect(200);
  const { spec } = (await server.client.get(path)).expect(200).object;
  assert.deepEqual(spec, { size: { replicas: 3 } });
});

test("S1-GEN-03: what stands for replicas or the selector has to be of their types", async () => {
  const type = { apiVersion: "scaled.example.com/v1", kind: "LooseFleet" };
  const cases = [
    [{ size: { replicas: "3" } }, ".spec.size.replicas", "3 is of the type string, expected int64"],
    [
      { size: { replicas: 1.5 } },
      ".spec.size.replicas",
      "1.5 is of the type float64, expected int64",
    ],
    [
      { size: ["a", { b: true, a: 1 }] },
      ".spec.size.replicas",
      "[a map[a:1 b:true]] is of the type []interface {}, expected map[string]interface{}",
    ],
    [
      { selector: { a: "b" } },
      ".spec.selector",
      "map[a:b] is of the type map[string]interface {}, expected string",
    ],
  ] as const;
  for (const [spec, field, said] of cases) {
    const object = { ...type, metadata: { name: "typed" }, spec };
    const { details } = (await server.client.post(LOOSE, object)).expect(422).object as {
      readonly details?: {
        readonly causes: readonly { readonly field: string; message: string }[];
      };
    };
    const shown = field === ".spec.selector" ? '""' : "0";
    const message = `Invalid value: ${shown}: ${field} accessor error: ${said}`;
    const causes = details?.causes.filter((cause) => cause.field === field);
    assert.deepEqual(causes, [{ reason: "FieldValueInvalid", message, field }]);
  }
});

test("S1-GEN-03: other forms of a scale are about the scale, not about the object", async () => {
  const path = await make("shown", { size: { replicas: 3 } });
  const container = { name: "c", image: "i" };
  const workload = {
    metadata: { name: "shown", labels: { app: "shown" } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "shown" } },
      template: { metadata: { labels: { app: "shown" } }, spec: { containers: [container] } },
    },
  };
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  (await server.client.post(deployments, workload)).expect(201);
  const fields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
  const form = "g=meta.k8s.io;v=v1";
  for (const [own, replicas] of [
    [path, 3],
    [`${deployments}/shown`, 2],
  ] as const) {
    const get = async (as: string) =>
      (await server.client.get(`${own}/scale`, `application/json;as=${as};${form}`)).expect(200)
        .object as unknown as {
        metadata: object;
        columnDefinitions: { name: string }[];
        rows: { cells: unknown[]; object: { metadata: object } }[];
      };
    assert.deepEqual(Object.keys((await get("PartialObjectMetadata")).metadata), fields);
    const { columnDefinitions, rows } = await get("Table");
    const names = columnDefinitions.map(({ name }) => name);
    assert.deepEqual(names, ["Name", "Desired", "Available", "Age"]);
    assert.deepEqual(rows[0]?.cells.slice(0, 3), ["shown", replicas, 0]);
    assert.deepEqual(Object.keys(rows[0]?.object.metadata ?? {}), fields);
  }
});

test("D11, D17: what stood at the paths before there was a scale is shown in 32 bits, or is told", async () => {
  const name = "latefleets.scaled.example.com";
  const plain = definitionOf(name, "LateFleet", { versions: [versionOf(ANYTHING)] });
  (await server.client.post(DEFINITIONS, plain)).expect(201);
  const objects = LOOSE.replace("loose", "late");
  const type = { apiVersion: "scaled.example.com/v1", kind: "LateFleet" };
  const specs: Readonly<Record<string, object>> = {
    many: { size: { replicas: 2 ** 32 + 5 } },
    text: { size: { replicas: "three" } },
    part: { size: { replicas: 1.5 } },
    list: { size: [] },
    other: { size: { replicas: 1 }, selector: 7 },
  };
  for (const [one, spec] of Object.entries(specs)) {
    (await server.client.post(objects, { ...type, metadata: { name: one }, spec })).expect(201);
  }
  const late = scaled(ANYTHING, { ...PATHS, labelSelectorPath: ".spec.selector" });
  const patched = await server.client.request(`${DEFINITIONS}/${name}`, {
    method: "PATCH",
    headers: { "content-type": MERGE },
    body: { spec: { versions: [late] } },
  });
  patched.expect(200);
  const told = async (one: string) => {
    const { status, object } = await server.client.get(`${objects}/${one}/scale`);
    return [status, object.message ?? object.spec];
  };
  const wrong = (what: string) => [500, `.spec.size.replicas accessor error: ${what}`];
  assert.deepEqual(await Promise.all(Object.keys(specs).map(told)), [
    [200, { replicas: 5 }],
    wrong("three is of the type string, expected int64"),
    wrong("1.5 is of the type float64, expected int64"),
    wrong("[] is of the type []interface {}, expected map[string]interface{}"),
    [500, ".spec.selector accessor error: 7 is of the type int64, expected string"],
  ]);
});
