/** Field ownership through writes and applies, on built-in types, as API clients see it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { loadFacts } from "../types/load-facts.js";
import { setOfPaths } from "./field-set.js";
import { manageObjects } from "./testing/managed-object.js";

const facts = loadFacts(createNaming("kubernetes"));
const CONFIG_MAP = ["", "v1", "ConfigMap"] as const;
const DEPLOYMENT = ["apps", "v1", "Deployment"] as const;
const SERVICE = ["", "v1", "Service"] as const;

const named = (rest: JsonObject = {}): JsonObject => ({
  metadata: { name: "x", namespace: "default" },
  ...rest,
});
const data = (values: Record<string, string>) => named({ data: values });

const web = (container: JsonObject = {}, spec: JsonObject = {}): JsonObject =>
  named({
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "nginx", ...container }] },
      },
      ...spec,
    },
  });

function conflictOf(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    assert(error instanceof StatusError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "no conflict" });
}

test("S1-SSA-01, S1-SSA-02: a create owns what it set and what was set by default, as clients know it", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  const { metadata } = deployment.put("kubectl-create", {
    ...web(),
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
  });
  const expected = {
    manager: "kubectl-create",
    operation: "Update",
    apiVersion: "apps/v1",
    time: "2024-01-01T00:00:01Z",
    fieldsType: "FieldsV1",
    fieldsV1: {
      "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
      "f:spec": {
        "f:progressDeadlineSeconds": {},
        "f:replicas": {},
        "f:revisionHistoryLimit": {},
        "f:selector": {},
        "f:strategy": {
          "f:rollingUpdate": { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} },
          "f:type": {},
        },
        "f:template": {
          "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
          "f:spec": {
            "f:containers": {
              'k:{"name":"web"}': {
                ".": {},
                "f:image": {},
                "f:imagePullPolicy": {},
                "f:name": {},
                "f:resources": {},
                "f:terminationMessagePath": {},
                "f:terminationMessagePolicy": {},
              },
            },
            "f:dnsPolicy": {},
            "f:restartPolicy": {},
            "f:schedulerName": {},
            "f:securityContext": {},
            "f:terminationGracePeriodSeconds": {},
          },
        },
      },
    },
  };
  assert.equal(JSON.stringify(metadata.managedFields), JSON.stringify([expected]));
});

test("S1-SSA-02, S1-SSA-20, S1-SSA-21, S1-SSA-22: items by key and by value, atomic lists as a whole", () => {
  const service = manageObjects(facts, SERVICE);
  const { metadata } = service.apply("ops", {
    metadata: { name: "x", finalizers: ["a/b"] },
    spec: { ports: [{ port: 80 }, { port: 53, protocol: "UDP" }], externalIPs: ["10.0.0.1"] },
  });
  assert.deepEqual(metadata.managedFields?.[0]?.fieldsV1, {
    "f:metadata": { "f:finalizers": { 'v:"a/b"': {} } },
    "f:spec": {
      "f:externalIPs": {},
      "f:ports": {
        'k:{"port":53,"protocol":"UDP"}': { ".": {}, "f:port": {}, "f:protocol": {} },
        'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {} },
      },
    },
  });
});

test("S1-SSA-09, S1-SSA-12: a PUT moves ownership of what it changes and never conflicts", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1", b: "2" }));
  map.put("editor", data({ a: "1", b: "3", c: "4" }));
  assert.deepEqual(map.owners(), {
    "ops Apply": [".data.a"],
    "editor Update": [".data.b", ".data.c"],
  });
  map.put("editor", data({ b: "3" }));
  assert.deepEqual(map.owners(), { "editor Update": [".data.b"] }, "what is gone is nobody's");
});

test("S1-SSA-10, S1-SSA-15: the same value from two managers is shared", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.put("editor", data({ a: "1" }));
  map.apply("ops", data({ a: "1" }));
  map.apply("dev", data({ a: "1" }));
  assert.deepEqual(map.owners(), {
    "dev Apply": [".data.a"],
    "ops Apply": [".data.a"],
    "editor Update": [".data", ".data.a"],
  });
});

test("S1-SSA-11: another value for another's field is a conflict that names owner and field", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  deployment.apply("ops", web({}, { replicas: 1 }));
  deployment.put("hpa", web({}, { replicas: 5 }), "scale");
  const one = conflictOf(() => deployment.apply("ops", web({}, { replicas: 2 })));
  assert.deepEqual(one.status, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message:
      'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using apps/v1: .spec.replicas',
    reason: "Conflict",
    details: {
      causes: [
        {
          reason: "FieldManagerConflict",
          message: 'conflict with "hpa" with subresource "scale" using apps/v1',
          field: ".spec.replicas",
        },
      ],
    },
    code: 409,
  });
  const two = conflictOf(() => deployment.apply("dev", web({ image: "other" }, { replicas: 2 })));
  assert.equal(
    two.message,
    'Apply failed with 2 conflicts: conflicts with "hpa" with subresource "scale" using apps/v1:\n' +
      '- .spec.replicas\nconflicts with "ops":\n- .spec.template.spec.containers[name="web"].image',
  );
});

test("H4: the refusal of an apply with 20,000 conflicts counts all, and lists what fits in 64 KiB", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  const values = (value: string) =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, value]));
  map.apply("ops", data(values("1")));
  const { message, status } = conflictOf(() => map.apply("dev", data(values("2"))));
  assert.match(message, /^Apply failed with 20000 conflicts: /);
  assert.ok(Buffer.byteLength(JSON.stringify(status)) <= 64 * 1024);
  assert.ok((status.details?.causes?.length ?? 0) > 100);
});

test("S1-SSA-13: force takes the field from its owners", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1", b: "1" }));
  map.apply("dev", data({ a: "2" }), true);
  assert.deepEqual(map.object().data, { a: "2", b: "1" });
  assert.deepEqual(map.owners(), { "ops Apply": [".data.b"], "dev Apply": [".data.a"] });
});

test("S1-SSA-14: what an applier drops stays while another owns it", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1", b: "1" }));
  map.apply("dev", data({ a: "1" }));
  map.apply("ops", data({ b: "1" }));
  assert.deepEqual(map.object().data, { a: "1", b: "1" });
  assert.deepEqual(map.owners(), { "dev Apply": [".data.a"], "ops Apply": [".data.b"] });
  map.apply("dev", named());
  assert.deepEqual(map.object().data, { b: "1" });
});

test("S1-SSA-16: what nobody else owns is removed, or goes back to its default", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  deployment.apply("ops", web({ args: ["x"] }, { replicas: 3, strategy: { type: "Recreate" } }));
  const { spec } = deployment.apply("ops", web()) as unknown as { spec: JsonObject };
  assert.equal(spec.replicas, 1);
  assert.deepEqual(spec.strategy, {
    type: "RollingUpdate",
    rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" },
  });
  assert.ok(!JSON.stringify(spec).includes("args"));
});

test("S1-SSA-25: containers are told apart by name; a dropped one goes, another's stays", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  const sidecar = (name: string) => ({
    metadata: { name: "x" },
    spec: { template: { spec: { containers: [{ name, image: "side" }] } } },
  });
  const names = () => {
    const { spec } = deployment.object() as unknown as {
      spec: { template: { spec: { containers: { name: string }[] } } };
    };
    return spec.template.spec.containers.map(({ name }) => name);
  };
  deployment.apply("ops", web());
  deployment.apply("mesh", sidecar("proxy"));
  assert.deepEqual(names(), ["web", "proxy"]);
  deployment.apply("mesh", sidecar("proxy-2"));
  assert.deepEqual(names(), ["web", "proxy-2"]);
  deployment.apply("mesh", { metadata: { name: "x" } });
  assert.deepEqual(names(), ["web"]);
});

test("S1-SSA-23, S1-SSA-24: atomic maps and structs are owned as a whole", () => {
  const service = manageObjects(facts, SERVICE);
  const selecting = (selector: JsonObject) => named({ spec: { ports: [{ port: 80 }], selector } });
  service.apply("ops", selecting({ a: "1" }));
  const { details } = conflictOf(() => service.apply("dev", selecting({ b: "2" }))).status;
  assert.deepEqual(
    details?.causes?.map(({ field }) => field),
    [".spec.selector"],
  );
  service.apply("ops", selecting({ b: "2" }));
  assert.deepEqual((service.object().spec as JsonObject).selector, { b: "2" });
});

test("S1-SSA-03: the time of an entry moves only with the entry, and a no-op changes nothing", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1" }));
  map.put("editor", data({ a: "1", b: "1" }));
  const before = structuredClone(map.object());
  map.put("editor", data({ a: "1", b: "1" }));
  map.apply("ops", data({ a: "1" }));
  assert.deepEqual(map.object(), before);
  map.put("editor", data({ a: "1", b: "2" }));
  const times = map.object().metadata.managedFields?.map(({ time }) => time);
  assert.deepEqual(times, ["2024-01-01T00:00:01Z", "2024-01-01T00:00:05Z"]);
});

test("S1-SSA-03: who applies what is there already owns it since no time", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("first", data({ a: "1" }));
  map.apply("second", data({ a: "1" }));
  const times = () =>
    map.object().metadata.managedFields?.map(({ manager, time }) => [manager, time]);
  assert.deepEqual(times(), [
    ["second", undefined],
    ["first", "2024-01-01T00:00:01Z"],
  ]);
  map.apply("second", data({ a: "1", b: "1" }));
  assert.deepEqual(times()?.at(-1)?.[0], "second");
});

test("S1-SSA-36: an apply that only spells a quantity otherwise changes nothing", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  const limited = web({ resources: { limits: { cpu: "0.5" } } });
  deployment.apply("ops", limited);
  const before = structuredClone(deployment.object());
  assert.deepEqual(deployment.apply("ops", limited), before);
});

test("S1-SSA-03: of more than ten updaters the oldest are merged", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  const values: Record<string, string> = {};
  for (let i = 0; i < 12; i++) {
    values[`k${i}`] = "v";
    map.put(`writer-${i}`, data(values));
  }
  const owners = map.owners();
  assert.equal(Object.keys(owners).length, 10);
  assert.deepEqual(owners["ancient-changes Update"], [".data", ".data.k0", ".data.k1", ".data.k2"]);
  assert.equal(map.object().metadata.managedFields?.[0]?.time, "2024-01-01T00:00:03Z");
  map.apply("ops", named());
  assert.equal(Object.keys(map.owners()).length, 10, "appliers do not count");
});

test("S1-SSA-29, S1-SSA-30, S1-SSA-31, S1-SSA-32: one empty entry clears, an empty list does not", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  const withEntries = (managedFields: JsonObject[], values: Record<string, string>) => ({
    metadata: { name: "x", namespace: "default", managedFields },
    data: values,
  });
  map.apply("ops", data({ a: "1" }));
  map.put("editor", withEntries([], { a: "1" }));
  assert.deepEqual(map.owners(), { "ops Apply": [".data.a"] });
  map.put("editor", withEntries([{}], { a: "1" }));
  assert.equal(map.object().metadata.managedFields, undefined);
  map.put("editor", data({ a: "2" }));
  assert.equal(map.object().metadata.managedFields, undefined, "not followed until applied");
  map.apply("ops", data({ b: "1" }));
  assert.deepEqual(map.owners(), {
    "ops Apply": [".data.b"],
    "before-first-apply Update": [".data", ".data.a"],
  });
});

test("S1-SSA-33: who clears and changes at once owns the changes", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1", b: "1" }));
  map.put("editor", {
    metadata: { name: "x", namespace: "default", managedFields: [{}] },
    data: { a: "1", b: "2" },
  });
  assert.deepEqual(map.owners(), { "editor Update": [".data.b"] });
});

test("entries that a client edits count when they are sound, and not through a subresource", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  map.apply("ops", data({ a: "1" }));
  const [entry] = map.object().metadata.managedFields ?? [];
  const edited = (change: JsonObject) => ({
    metadata: { name: "x", namespace: "default", managedFields: [{ ...entry, ...change }] },
    data: { a: "1" },
  });
  map.put("editor", edited({ manager: "dev" }));
  assert.deepEqual(map.owners(), { "dev Apply": [".data.a"] });
  for (const bad of [{ operation: "Own" }, { fieldsType: "X" }, { fieldsV1: { "x y": {} } }]) {
    map.put("editor", edited(bad));
    assert.deepEqual(map.owners(), { "dev Apply": [".data.a"] }, JSON.stringify(bad));
  }
  map.put("editor", edited({ manager: "other" }), "status");
  assert.deepEqual(map.owners(), { "dev Apply": [".data.a"] });
});

test("S1-SSA-06, S1-SSA-08: what is no configuration of the type is a 400", () => {
  const service = manageObjects(facts, SERVICE);
  const ports = (...items: JsonObject[]) => ({ spec: { ports: items } });
  const object = "failed to create typed patch object (/; /v1, Kind=Service)";
  const got = (field: string, expected: string, found: string) =>
    `${object}: .spec.${field}: expected ${expected}, got ${found}`;
  const table: readonly (readonly [JsonObject, RegExp | string])[] = [
    [{ metadata: { managedFields: [] } }, /metadata.managedFields must be nil/],
    [{ spec: { nonsense: 1 } }, /: \.spec\.nonsense: field not declared in schema$/],
    [{ spec: { ports: {} } }, /\.spec\.ports: expected list, got &\{map\[\]\}$/],
    [{ spec: [1, "a"] }, /\.spec: expected map, got &\{\[1 a\]\}$/],
    [{ spec: { clusterIP: 5 } }, got("clusterIP", "string", "&value.valueUnstructured{Value:5}")],
    [
      { spec: { clusterIP: { b: ["x", null], a: true } } },
      got(
        "clusterIP",
        "string",
        '&value.valueUnstructured{Value:map[string]interface {}{"a":true, "b":[]interface {}{"x", interface {}(nil)}}}',
      ),
    ],
    [
      { spec: { healthCheckNodePort: "1" } },
      got("healthCheckNodePort", "numeric (int or float)", "string"),
    ],
    [
      { spec: { publishNotReadyAddresses: "x" } },
      got("publishNotReadyAddresses", "boolean", "&{x}"),
    ],
    [
      { spec: { clusterIPs: ["a", 1] } },
      got("clusterIPs", "string", "&value.valueUnstructured{Value:1}"),
    ],
    [
      { spec: { selector: { a: 1.5 } } },
      got("selector.a", "string", "&value.valueUnstructured{Value:1.5}"),
    ],
    [
      ports({ port: 80, targetPort: [] }),
      got('ports[port=80,protocol="TCP"].targetPort', "any scalar", "&{[]}"),
    ],
    [
      { spec: { ports: [5] } },
      `${object}: .spec.ports: element 0: associative list with keys may not have non-map elements`,
    ],
    [
      ports({ port: 80 }, { port: 80, protocol: "TCP" }),
      /duplicate entries for key \[port=80,protocol="TCP"\]/,
    ],
    [{ metadata: { finalizers: ["a", "a"] } }, /duplicate entries for key \[="a"\]/],
    [{ metadata: { finalizers: [{}] } }, /map type/],
    [{ x: 1, y: 2 }, /: errors:\n {2}\.x: field not declared in schema\n {2}\.y: /],
  ];
  for (const [config, message] of table) {
    const error = conflictOf(() => service.apply("ops", config));
    assert.equal(error.code, 400, JSON.stringify(config));
    if (typeof message === "string") assert.equal(error.message, message);
    else assert.match(error.message, message);
  }
  const other = { apiVersion: "v1", kind: "Pod", metadata: { name: "x" } };
  const write = { manager: "ops", subresource: "", force: false };
  assert.throws(() => service.manager.apply(undefined, other, write), {
    message: "invalid object type: /v1, Kind=Pod",
  });
  assert.ok(service.apply("ops", { metadata: null, spec: null }).metadata.managedFields);
});

test("S1-SSA-22: the order of a configuration counts, items of others keep their place", () => {
  const deployment = manageObjects(facts, DEPLOYMENT);
  const env = (...names: string[]) => web({ env: names.map((name) => ({ name, value: name })) });
  const order = () =>
    JSON.stringify(deployment.object())
      .match(/(?<="value":")\w+/g)
      ?.join("");
  deployment.put("editor", env("a", "b", "c", "d"));
  deployment.apply("ops", env("d", "b"));
  assert.equal(order(), "acdb");
  deployment.apply("ops", env("b", "x", "d"));
  assert.equal(order(), "acbxd");
});

test("S1-SSA-22: duplicates of stored objects are kept, and merged once they are applied", () => {
  const service = manageObjects(facts, SERVICE);
  const twice = { port: 53, protocol: "UDP" };
  service.put(
    "editor",
    named({
      spec: {
        ports: [
          { ...twice, name: "a" },
          { ...twice, name: "b" },
        ],
      },
    }),
  );
  assert.deepEqual(
    service.owners()["editor Update"]?.filter((path) => path.includes("53")),
    ['.spec.ports[port=53,protocol="UDP"]'],
  );
  service.apply("ops", named({ spec: { ports: [{ port: 80 }] } }));
  const ports = () => (service.object().spec as { ports: JsonObject[] }).ports;
  assert.equal(ports().length, 3);
  service.apply("ops", named({ spec: { ports: [{ ...twice, name: "a" }] } }), true);
  assert.deepEqual(
    ports().map(({ name }) => name),
    ["a"],
  );
});

test("fields that a write to a subresource does not reach are neither changed nor owned by it", () => {
  const resetFields = (subresource: string) =>
    setOfPaths(subresource === "status" ? [["f:spec"]] : [["f:status"]]);
  const deployment = manageObjects(facts, DEPLOYMENT, { resetFields });
  deployment.apply("ops", { ...web(), status: { replicas: 3 } });
  deployment.apply(
    "robot",
    { ...web({}, { replicas: 9 }), status: { replicas: 3 } },
    false,
    "status",
  );
  const { "ops Apply": ops, "robot Apply status": robot } = deployment.owners();
  assert.ok(
    ops?.every((path) => path.startsWith(".spec.")),
    String(ops),
  );
  assert.deepEqual(robot, [".status.replicas"]);
});

test("S1-SSA-37: kubectl takes over server-side what it applied client-side", () => {
  const map = manageObjects(facts, CONFIG_MAP);
  const key = "kubectl.kubernetes.io/last-applied-configuration";
  const applied = { apiVersion: "v1", kind: "ConfigMap", ...data({ a: "1", b: "1" }) };
  const clientSide = (values: Record<string, string>) => ({
    metadata: { name: "x", annotations: { [key]: `${JSON.stringify(applied)}\n` } },
    data: values,
  });
  map.put("kubectl-client-side-apply", clientSide({ a: "1", b: "1" }));
  map.put("editor", clientSide({ a: "1", b: "2" }));
  assert.equal(conflictOf(() => map.apply("ops", data({ a: "2" }))).code, 409);
  const refused = conflictOf(() => map.apply("kubectl", data({ a: "2", b: "3" })));
  assert.deepEqual(
    refused.status.details?.causes?.map(({ field }) => field),
    [".data.b"],
  );
  map.apply("kubectl", data({ a: "2" }));
  assert.equal((map.object().data as JsonObject).a, "2");
  assert.equal(
    map.object().metadata.annotations?.[key],
    '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}\n',
  );
  assert.deepEqual(map.owners()["kubectl Apply"], [".data.a"]);
});

test("S1-SSA-37: an annotation that is no configuration allows nothing", () => {
  const key = "kubectl.kubernetes.io/last-applied-configuration";
  const texts = [
    "{",
    "[]",
    "1",
    '{"apiVersion":"v2"}',
    '{"apiVersion":"v1","x":1}',
    "[".repeat(1e5),
  ];
  for (const text of [...texts, `{"apiVersion":"v1","data":${'{"a":'.repeat(1e4)}`]) {
    const map = manageObjects(facts, CONFIG_MAP);
    map.put("editor", { metadata: { name: "x", annotations: { [key]: text } }, data: { a: "1" } });
    assert.equal(conflictOf(() => map.apply("kubectl", data({ a: "2" }))).code, 409);
  }
});
