import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { loadFacts } from "../types/load-facts.js";
import { JUDGED_BY_HAND, looksRequired, NOT_REQUIRED } from "./checks.js";
import { createObjectCodecs, type ObjectCodec } from "./object-codec.js";

const facts = loadFacts(createNaming("kubernetes"));
const codecs = createObjectCodecs(facts);

function codecOf(group: string, version: string, kind: string): ObjectCodec {
  const codec = codecs.forKind(group, version, kind);
  assert(codec !== undefined, kind);
  return codec;
}

const configMap = codecOf("", "v1", "ConfigMap");
const deployment = codecOf("apps", "v1", "Deployment");
const pod = codecOf("", "v1", "Pod");
const secret = codecOf("", "v1", "Secret");

/** Reads and writes without defaults. */
function through(codec: ObjectCodec, input: JsonValue): string {
  return codec.encode(codec.decode(input).object);
}

function refusalOf(codec: ObjectCodec, input: JsonValue): string {
  try {
    codec.decode(input);
  } catch (error) {
    assert(error instanceof StatusError, String(error));
    assert.equal(error.code, 400);
    assert.equal(error.reason, "BadRequest");
    return error.message;
  }
  throw new Error("accepted");
}

const ofPod = (spec: JsonObject): JsonObject => ({ spec });
const inContainer = (container: JsonObject) => ofPod({ containers: [container] });

test("S1-FV-01: a wrong JSON type is a 400 that names field, type found and type expected", () => {
  const cases: readonly (readonly [ObjectCodec, JsonValue, string])[] = [
    [
      deployment,
      { spec: { replicas: "3" } },
      "string into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      deployment,
      { spec: { replicas: 1.5 } },
      "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      deployment,
      { spec: { replicas: 2147483648 } },
      "number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      deployment,
      { spec: { replicas: 2n ** 63n } },
      "number 9223372036854775808 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    [
      deployment,
      { spec: "x" },
      "string into Go struct field Deployment.spec of type v1.DeploymentSpec",
    ],
    [
      deployment,
      { spec: { paused: 1 } },
      "number into Go struct field DeploymentSpec.spec.paused of type bool",
    ],
    [configMap, [], "array into Go value of type v1.ConfigMap"],
    [
      configMap,
      { metadata: { labels: { a: 1 } } },
      "number into Go struct field ObjectMeta.metadata.labels of type string",
    ],
    [
      configMap,
      { metadata: { generation: 2n ** 63n } },
      "number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64",
    ],
    [
      configMap,
      { data: ["a"] },
      "array into Go struct field ConfigMap.data of type map[string]string",
    ],
    [configMap, { immutable: {} }, "object into Go struct field ConfigMap.immutable of type bool"],
    [
      pod,
      ofPod({ containers: {} }),
      "object into Go struct field PodSpec.spec.containers of type []v1.Container",
    ],
    [
      pod,
      inContainer({ name: true }),
      "bool into Go struct field Container.spec.containers.name of type string",
    ],
    [
      pod,
      inContainer({ imagePullPolicy: 1 }),
      "number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
    ],
    [
      pod,
      inContainer({ livenessProbe: { httpGet: { port: 1.5 } } }),
      "number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32",
    ],
    [
      pod,
      { metadata: { creationTimestamp: 1 } },
      "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
    ],
  ];
  for (const [codec, input, expected] of cases) {
    const message = refusalOf(codec, input);
    assert.match(message, /^(\w+) in version "v1" cannot be handled as a \1: json: /);
    assert.equal(message.slice(message.indexOf("json: ")), `json: cannot unmarshal ${expected}`);
  }
});

test("S1-FV-01: texts with a form of their own are checked", () => {
  assert.match(refusalOf(secret, { data: { a: "%%%" } }), /illegal base64 data at input byte 0$/);
  assert.match(refusalOf(secret, { data: { a: "YWJ" } }), /illegal base64 data at input byte 0$/);
  assert.match(
    refusalOf(pod, { metadata: { creationTimestamp: "yesterday" } }),
    /parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse/,
  );
  assert.match(
    refusalOf(pod, inContainer({ resources: { limits: { cpu: "lots" } } })),
    /quantities must match the regular expression/,
  );
});

test("S1-FV-03: unknown fields are dropped and reported by path, at any depth", () => {
  const { object, unknownFields } = deployment.decode({
    metadata: { foo: 1, managedFields: [{ bar: 1 }] },
    spec: {
      contaners: [],
      Replicas: 1,
      template: { spec: { containers: [{ name: "a", x: 1, ports: [{}, { Name: "" }] }] } },
    },
    __proto__x: 1,
  });
  assert.deepEqual(unknownFields, [
    "metadata.foo",
    "metadata.managedFields[0].bar",
    "spec.contaners",
    "spec.Replicas",
    "spec.template.spec.containers[0].x",
    "spec.template.spec.containers[0].ports[1].Name",
    "__proto__x",
  ]);
  assert.doesNotMatch(deployment.encode(object), /foo|bar|contaners|Replicas|"x"|Name"/);
});

test("S1-FV-03: what is within raw values and maps is known", () => {
  const revision = codecOf("apps", "v1", "ControllerRevision");
  const data = { any: { thing: [1, null, 9007199254740993n] } };
  const input = { metadata: { annotations: { "x.y/z": "1" } }, data };
  assert.deepEqual(revision.decode(input).unknownFields, []);
  assert.match(through(revision, input), /"data":{"any":{"thing":\[1,null,9007199254740993\]}}/);
});

test("kind and apiVersion come first, fields in declaration order, map keys sorted", () => {
  const input = {
    data: { b: "<&>", a: "1", "10": "x", "9": "y" },
    metadata: { labels: { z: "1", a: "2" }, namespace: "n", name: "c" },
    apiVersion: "v1",
    kind: "ConfigMap",
  };
  assert.equal(
    through(configMap, input),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","namespace":"n",' +
      '"labels":{"a":"2","z":"1"}},"data":{"10":"x","9":"y","a":"1","b":"\\u003c\\u0026\\u003e"}}',
  );
});

test("empty values are left out, or written as their type's zero, as the facts say", () => {
  const empties = { metadata: { name: "", labels: {}, finalizers: [], generation: 0 }, data: {} };
  assert.equal(through(configMap, empties), '{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}');
  assert.equal(
    through(deployment, {}),
    '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{},"spec":{"selector":null,' +
      '"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}',
  );
  const role = codecOf("rbac.authorization.k8s.io", "v1", "Role");
  assert.match(through(role, { rules: [] }), /"rules":null/);
  const event = codecOf("", "v1", "Event");
  assert.match(through(event, {}), /"firstTimestamp":null,"lastTimestamp":null/);
  const service = codecOf("", "v1", "Service");
  assert.match(
    through(service, { spec: { ports: [{}] } }),
    /"ports":\[{"port":0,"targetPort":0}\]/,
  );
});

test("null means absent for a field, and zero for an item", () => {
  assert.equal(
    through(configMap, { metadata: null, data: { a: null }, immutable: null }),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"a":""}}',
  );
  assert.match(
    through(pod, { metadata: { finalizers: [null] }, spec: { containers: [null] } }),
    /"finalizers":\[""\]}.*"containers":\[{"name":"","resources":{}}\]/,
  );
});

test("a pointer to zero is kept, a zero is not", () => {
  const input = { spec: { replicas: 0, minReadySeconds: 0, paused: false } };
  assert.match(through(deployment, input), /"spec":{"replicas":0,"selector":null/);
});

test("S1-VER-09: int64 fields survive beyond 2^53", () => {
  const generation = 2n ** 63n - 1n;
  assert.match(
    through(configMap, { metadata: { generation } }),
    /"generation":9223372036854775807}/,
  );
});

test("values with a canonical text are written in it", () => {
  const container = inContainer({
    resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: 0.5, memory: 1 } },
    ports: [{ containerPort: 80 }],
    livenessProbe: { httpGet: { port: "http" } },
  });
  const text = through(pod, container);
  assert.match(text, /"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1"}/);
  assert.match(text, /"httpGet":{"port":"http"}/);
  const stamped = { metadata: { creationTimestamp: "2026-01-02T03:04:05.9+02:00" } };
  assert.match(through(pod, stamped), /"creationTimestamp":"2026-01-02T01:04:05Z"/);
  const zero = { metadata: { creationTimestamp: "0001-01-01T00:00:00Z" } };
  assert.doesNotMatch(through(pod, zero), /creationTimestamp/);
  assert.match(through(secret, { data: { a: "YW\nJj", b: "YR==" } }), /"a":"YWJj","b":"YQ=="/);
  const lease = codecOf("coordination.k8s.io", "v1", "Lease");
  const renewed = { spec: { renewTime: "2026-01-02T03:04:05.000001Z" } };
  assert.match(through(lease, renewed), /"renewTime":"2026-01-02T03:04:05.000001Z"/);
});

test("types that are one of two forms keep the form", () => {
  const definition = codecOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  const schema = {
    default: { a: null },
    enum: [null, 1],
    items: { type: "string" },
    additionalProperties: false,
    properties: {
      list: { items: [{ type: "a" }, { type: "b" }], additionalProperties: { nullable: true } },
    },
    dependencies: { a: ["b"], c: { type: "d" } },
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const input = {
    spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }] },
  } satisfies JsonObject;
  const { object, unknownFields } = definition.decode(input);
  assert.deepEqual(unknownFields, []);
  const written = JSON.parse(definition.encode(object)) as typeof input;
  assert.deepEqual(written.spec.versions[0]?.schema.openAPIV3Schema, schema);
  const wrong = { spec: { versions: [{ schema: { openAPIV3Schema: { properties: [] } } }] } };
  assert.match(refusalOf(definition, wrong), /openAPIV3Schema\.properties of type map/);
});

test("embedded structs are spread in place", () => {
  const volume = { name: "v", configMap: { name: "c", items: [{ key: "k", path: "p" }] } };
  const text = through(pod, ofPod({ volumes: [volume] }));
  assert.match(
    text,
    /"volumes":\[{"name":"v","configMap":{"name":"c","items":\[{"key":"k","path":"p"}\]}}\]/,
  );
});

test("S1-META-17: labels may have any key, also __proto__", () => {
  const input = {
    metadata: { labels: JSON.parse('{"__proto__":"x","constructor":"y"}') as JsonObject },
  };
  assert.match(through(configMap, input), /"labels":{"__proto__":"x","constructor":"y"}/);
  const unknown = JSON.parse('{"__proto__":{"data":{"a":"b"}},"toString":1}') as JsonObject;
  const { object, unknownFields } = configMap.decode(unknown);
  assert.deepEqual(unknownFields, ["__proto__", "toString"]);
  assert.equal(object.data, undefined);
});

test("decode leaves its input alone and shares nothing that it changes", () => {
  const input = { metadata: { labels: { a: "b" } }, spec: { template: { spec: {} } } };
  const before = structuredClone(input);
  const { object } = deployment.decode(input);
  deployment.applyDefaults(object);
  object.metadata.labels = { ...object.metadata.labels, c: "d" };
  assert.deepEqual(input, before);
});

function errorsOf(codec: ObjectCodec, input: JsonValue): string[] {
  const { object } = codec.decode(input);
  return codec
    .validate(object)
    .map(({ reason, field, message }) => `${reason} ${field}: ${message}`);
}

test("S1-FV-02: a required field that is missing is an error with its path", () => {
  assert.deepEqual(errorsOf(deployment, {}), ["FieldValueRequired spec.selector: Required value"]);
  const ingress = codecOf("networking.k8s.io", "v1", "Ingress");
  const paths = [
    { backend: { resource: { kind: "A", name: "b" } } },
    { backend: { resource: {} } },
  ];
  assert.deepEqual(errorsOf(ingress, { spec: { rules: [{ http: { paths } }] } }), [
    "FieldValueRequired spec.rules[0].http.paths[0].pathType: Required value",
    "FieldValueRequired spec.rules[0].http.paths[1].pathType: Required value",
    "FieldValueRequired spec.rules[0].http.paths[1].backend.resource.kind: Required value",
    "FieldValueRequired spec.rules[0].http.paths[1].backend.resource.name: Required value",
  ]);
  // What pods need is the business of their rules.
  assert.deepEqual(errorsOf(pod, ofPod({ containers: [{}] })), []);
});

test("S1-FV-02: closed sets of values are enforced, outside of status, and nothing else is", () => {
  const policy = codecOf("networking.k8s.io", "v1", "NetworkPolicy");
  assert.deepEqual(errorsOf(policy, { spec: { podSelector: {}, policyTypes: ["Ingress", "X"] } }), [
    'FieldValueNotSupported spec.policyTypes[1]: Unsupported value: "X": ' +
      'supported values: "Egress", "Ingress"',
  ]);
  assert.deepEqual(errorsOf(codecOf("", "v1", "Namespace"), { status: { phase: "X" } }), []);
  assert.deepEqual(errorsOf(secret, { type: "example.com/mine" }), []);
});

test("S1-FV-02: what is accepted empty is accepted", () => {
  const accepted: readonly (readonly [ObjectCodec, JsonValue])[] = [
    [codecOf("rbac.authorization.k8s.io", "v1", "Role"), {}],
    [codecOf("rbac.authorization.k8s.io", "v1", "ClusterRole"), {}],
    [codecOf("discovery.k8s.io", "v1", "EndpointSlice"), { addressType: "IPv4" }],
    [codecOf("", "v1", "LimitRange"), {}],
    [codecOf("", "v1", "Event"), { series: {}, metadata: { managedFields: [{}] } }],
    [codecOf("", "v1", "ServiceAccount"), { secrets: [{}] }],
    [codecOf("coordination.k8s.io", "v1", "Lease"), {}],
    [codecOf("storage.k8s.io", "v1", "CSINode"), {}],
  ];
  for (const [codec, input] of accepted) assert.deepEqual(errorsOf(codec, input), []);
});

test("every exception from being required names a field that would be required", () => {
  const named = [...facts.model.files.values()].flatMap((file) =>
    [...file.types.values()].flatMap((type) =>
      type.form === "struct"
        ? type.fields
            .filter((field) => looksRequired(facts.model, type, field))
            .map((field) => `${file.base.split(".")[0]}.${type.name}.${field.name}`)
        : [],
    ),
  );
  assert.deepEqual(
    [...NOT_REQUIRED].filter((name) => !named.includes(name)),
    [],
  );
});

test("every closed set that is judged by hand is one of the facts", () => {
  const named = [...facts.model.files.values()].flatMap((file) =>
    [...file.types.values()].flatMap((type) =>
      type.form === "struct"
        ? type.fields.map((field) => `${file.base.split(".")[0]}.${type.name}.${field.name}`)
        : [],
    ),
  );
  assert.deepEqual(
    [...JUDGED_BY_HAND].filter((name) => !named.includes(name)),
    [],
  );
});

test("a kind that the facts do not have has no codec", () => {
  assert.equal(codecs.forKind("", "v1", "PodSpec"), undefined);
  assert.equal(codecs.forKind("", "v9", "Pod"), undefined);
});

test("input nested beyond the stack is a 400", () => {
  let schema: JsonObject = {};
  for (let depth = 0; depth < 100_000; depth++) schema = { not: schema };
  const definition = codecOf("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  const input = { spec: { versions: [{ schema: { openAPIV3Schema: schema } }] } };
  assert.match(refusalOf(definition, input), /exceeded max depth$/);
});

test("defaults and encoding make the object that clients know", () => {
  const { object } = codecOf("", "v1", "Service").decode({
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
  });
  const service = codecOf("", "v1", "Service");
  service.applyDefaults(object as ApiObject);
  assert.equal(
    service.encode(object),
    '{"kind":"Service","apiVersion":"v1","metadata":{"name":"web","namespace":"default"},' +
      '"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":80}],"selector":{"app":"web"},' +
      '"type":"ClusterIP","sessionAffinity":"None","internalTrafficPolicy":"Cluster"},' +
      '"status":{"loadBalancer":{}}}',
  );
});
