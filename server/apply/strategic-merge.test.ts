/** Strategic merge patch on built-in types: lists by key, directives, order, refusals, properties. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { loadFacts } from "../types/load-facts.js";
import { createStrategicMergePatcher } from "./strategic-merge.js";

const { model } = loadFacts(createNaming("kubernetes"));
const applyPatch = createStrategicMergePatcher(model);

function patched(id: string, current: JsonObject, patch: JsonValue): JsonObject {
  const type = model.type(id);
  assert(type?.form === "struct", id);
  const before = structuredClone([current, patch]);
  const result = applyPatch(type, current, patch);
  assert.deepEqual([current, patch], before, "what goes in is left alone");
  return result;
}

const pod = (spec: JsonObject) => ({ spec });
const containers = (...items: JsonObject[]) => pod({ containers: items });
const named = (...names: string[]) => containers(...names.map((name) => ({ name })));
const env = (...names: string[]) =>
  containers({ name: "a", env: names.map((name) => ({ name, value: name })) });
const finalizers = (...items: string[]) => ({ metadata: { finalizers: items } });

/** Title, type, current object, patch, result. */
type Row = readonly [string, string, JsonObject, JsonObject, JsonObject];

const TABLE: readonly Row[] = [
  [
    "members of structs and maps merge, null removes",
    "core.v1.ConfigMap",
    { metadata: { name: "x", labels: { a: "1", b: "2" } }, data: { k: "v" } },
    { metadata: { labels: { a: null, c: "3" } }, data: { l: "w" } },
    { metadata: { name: "x", labels: { b: "2", c: "3" } }, data: { k: "v", l: "w" } },
  ],
  [
    "null for what is not there changes nothing",
    "core.v1.ConfigMap",
    { data: { k: "v" } },
    { data: { l: null }, metadata: { labels: { a: null } } },
    { data: { k: "v" }, metadata: { labels: {} } },
  ],
  [
    "unknown fields pass through",
    "core.v1.ConfigMap",
    {},
    { nonsense: { a: [1] } },
    { nonsense: { a: [1] } },
  ],
  [
    "items of a list merge by key",
    "core.v1.Pod",
    containers({ name: "a", image: "1" }, { name: "b", image: "2" }),
    containers({ name: "b", image: "3" }),
    containers({ name: "a", image: "1" }, { name: "b", image: "3" }),
  ],
  ["new items come first", "core.v1.Pod", named("a"), named("b"), named("b", "a")],
  [
    "items are deleted by key",
    "core.v1.Pod",
    named("a", "b", "c"),
    containers({ name: "b", $patch: "delete" }, { name: "d", $patch: "delete" }),
    named("a", "c"),
  ],
  [
    "a list is replaced by a marker among its items",
    "core.v1.Pod",
    containers({ name: "a", image: "1" }, { name: "b" }),
    containers({ name: "a" }, { $patch: "replace" }),
    named("a"),
  ],
  [
    "a struct is replaced",
    "core.v1.Pod",
    pod({ securityContext: { runAsUser: 1 }, hostname: "h" }),
    pod({ securityContext: { $patch: "replace", runAsGroup: 2 } }),
    pod({ securityContext: { runAsGroup: 2 }, hostname: "h" }),
  ],
  [
    "a struct is emptied",
    "core.v1.Pod",
    pod({ securityContext: { runAsUser: 1 } }),
    pod({ securityContext: { $patch: "delete" } }),
    pod({ securityContext: {} }),
  ],
  [
    "a whole object is replaced",
    "core.v1.ConfigMap",
    { data: { k: "v" } },
    { $patch: "replace", metadata: { name: "x" } },
    { metadata: { name: "x" } },
  ],
  [
    "a map with a directive is left out where none is to merge with",
    "core.v1.Pod",
    { spec: { priority: 1 } },
    {
      spec: {
        nodeSelector: { $patch: "replace", a: "b" },
        affinity: { nodeAffinity: { $patch: "bogus" }, podAffinity: {} },
        containers: [{ $patch: "merge", name: "a" }, { name: "b" }],
      },
    },
    { spec: { priority: 1, affinity: { podAffinity: {} }, containers: [{ name: "b" }] } },
  ],
  [
    "a list without merge strategy is replaced",
    "core.v1.Pod",
    containers({ name: "a", args: ["x", "y"] }),
    containers({ name: "a", args: ["z"] }),
    containers({ name: "a", args: ["z"] }),
  ],
  [
    "a struct with strategy replace is replaced",
    "policy.v1.PodDisruptionBudget",
    { spec: { selector: { matchLabels: { a: "1" } }, minAvailable: 1 } },
    { spec: { selector: { matchLabels: { b: "2" } } } },
    { spec: { selector: { matchLabels: { b: "2" } }, minAvailable: 1 } },
  ],
  [
    "primitive lists with merge strategy are united",
    "core.v1.ConfigMap",
    finalizers("a", "b"),
    finalizers("c", "a"),
    finalizers("c", "a", "b"),
  ],
  [
    "items of a primitive list are deleted",
    "core.v1.ConfigMap",
    finalizers("a", "b", "c"),
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["b", "x"] } },
    finalizers("a", "c"),
  ],
  [
    "items are deleted and others added in a stated order",
    "core.v1.ConfigMap",
    finalizers("a", "b"),
    {
      metadata: {
        finalizers: ["c"],
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["c", "b"],
      },
    },
    finalizers("c", "b"),
  ],
  [
    "an order is set without a change",
    "core.v1.Pod",
    named("a", "b", "c"),
    pod({ "$setElementOrder/containers": [{ name: "c" }, { name: "a" }, { name: "b" }] }),
    named("c", "a", "b"),
  ],
  [
    "items only the server has keep their place",
    "core.v1.Pod",
    env("injected", "a", "b", "late"),
    containers({
      name: "a",
      "$setElementOrder/env": [{ name: "b" }, { name: "new" }, { name: "a" }],
      env: [{ name: "new", value: "new" }],
    }),
    env("injected", "b", "new", "a", "late"),
  ],
  [
    "kubectl's three-way patch: one item changed, one dropped, one kept from another writer",
    "apps.v1.Deployment",
    {
      spec: {
        replicas: 5,
        template: {
          spec: { containers: [{ name: "sidecar" }, { name: "web", image: "1" }, { name: "old" }] },
        },
      },
    },
    {
      spec: {
        template: {
          spec: {
            "$setElementOrder/containers": [{ name: "web" }],
            containers: [
              { name: "web", image: "2" },
              { name: "old", $patch: "delete" },
            ],
          },
        },
      },
    },
    {
      spec: {
        replicas: 5,
        template: { spec: { containers: [{ name: "sidecar" }, { name: "web", image: "2" }] } },
      },
    },
  ],
  [
    "retained keys: the other members of a union go",
    "apps.v1.Deployment",
    { spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } },
    { spec: { strategy: { type: "Recreate", $retainKeys: ["type"] } } },
    { spec: { strategy: { type: "Recreate" } } },
  ],
  [
    "retained keys within list items",
    "core.v1.Pod",
    pod({ volumes: [{ name: "v", emptyDir: {} }] }),
    pod({ volumes: [{ name: "v", configMap: { name: "c" }, $retainKeys: ["name", "configMap"] }] }),
    pod({ volumes: [{ name: "v", configMap: { name: "c" } }] }),
  ],
  [
    "two ports of one number are not lost",
    "core.v1.Service",
    {
      spec: {
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
          { port: 80, protocol: "TCP" },
        ],
      },
    },
    { spec: { ports: [{ port: 80, name: "web" }] } },
    {
      spec: {
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
          { port: 80, protocol: "TCP", name: "web" },
        ],
      },
    },
  ],
  [
    "two ports of one number in a new list are not lost",
    "core.v1.Service",
    { spec: { type: "ClusterIP" } },
    {
      spec: {
        "$setElementOrder/ports": [{ port: 53 }, { port: 53 }],
        ports: [
          { port: 53, protocol: "UDP", name: null },
          { port: 53, protocol: "TCP" },
          { port: 54, $patch: "delete" },
        ],
      },
    },
    {
      spec: {
        type: "ClusterIP",
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
        ],
      },
    },
  ],
  [
    "nor in a new item of a list",
    "core.v1.Pod",
    named("a"),
    containers({
      name: "b",
      ports: [
        { containerPort: 53, protocol: "UDP" },
        { containerPort: 53, protocol: "TCP" },
      ],
    }),
    containers(
      {
        name: "b",
        ports: [
          { containerPort: 53, protocol: "UDP" },
          { containerPort: 53, protocol: "TCP" },
        ],
      },
      { name: "a" },
    ),
  ],
  [
    "nor in a list that replaces another",
    "core.v1.Service",
    { spec: { ports: [{ port: 80 }, { port: 53 }] } },
    {
      spec: {
        ports: [
          { $patch: "replace" },
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
        ],
      },
    },
    {
      spec: {
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
        ],
      },
    },
  ],
  [
    "a new primitive list is taken as it is",
    "core.v1.ConfigMap",
    { metadata: { name: "x" } },
    finalizers("a", "a"),
    { metadata: { name: "x", finalizers: ["a", "a"] } },
  ],
  [
    "directives in something new do not stay",
    "core.v1.Pod",
    {},
    pod({
      $retainKeys: ["containers", "securityContext"],
      "$setElementOrder/containers": [{ name: "a" }],
      containers: [
        { name: "a", env: [{ name: "x", $patch: "delete" }], tty: null },
        { name: "b", $patch: "delete" },
      ],
      securityContext: { $patch: "replace", runAsUser: 1 },
    }),
    pod({ containers: [{ name: "a", env: [] }] }),
  ],
  [
    "a list in place of null and of another type",
    "core.v1.Pod",
    { spec: { containers: null, tolerations: 1 } },
    { spec: { containers: [{ name: "a" }], tolerations: [{ key: "k" }] } },
    { spec: { containers: [{ name: "a" }], tolerations: [{ key: "k" }] } },
  ],
  [
    "maps of untyped values merge like maps",
    "core.v1.ConfigMap",
    { metadata: { managedFields: [{ manager: "a" }] } },
    { metadata: { managedFields: [{}] } },
    { metadata: { managedFields: [{}] } },
  ],
  [
    "a member named __proto__ is a member",
    "core.v1.ConfigMap",
    { data: {} },
    JSON.parse('{"data": {"__proto__": "x"}}') as JsonObject,
    JSON.parse('{"data": {"__proto__": "x"}}') as JsonObject,
  ],
];

for (const [title, id, current, patch, expected] of TABLE) {
  test(`S1-PATCH-05: ${title}`, () => {
    assert.deepEqual(patched(id, current, patch), expected);
  });
}

test("S1-PATCH-05: null is a patch of nothing", () => {
  const current = { metadata: { name: "a" } };
  assert.deepEqual(patched("core.v1.Pod", current, null), current);
});

test("S1-PATCH-11: a malformed patch is 400, one that does not fit the object 422", () => {
  const table: readonly (readonly [JsonValue, number, RegExp])[] = [
    [[], 400, /invalid JSON document/],
    ["x", 400, /invalid JSON document/],
    [{ $patch: "jump" }, 400, /unknown patch type: "jump"/],
    [containers({ name: "a", $patch: 1 }), 400, /unknown patch type: 1/],
    [{ $patch: "merge" }, 400, /unknown patch type: "merge"/],
    [containers({ name: "a", $patch: "merge" }), 400, /merging lists cannot yet be specified/],
    [pod({ $retainKeys: "x" }), 400, /invalid patch format of retainKeys/],
    [pod({ $retainKeys: ["a"], hostname: "h" }), 400, /invalid patch format of retainKeys/],
    [{ metadata: { $deleteFromPrimitiveList: [] } }, 400, /invalid patch format of primitive list/],
    [{ metadata: { "$deleteFromPrimitiveList/finalizers": "x" } }, 400, /primitive list/],
    [{ metadata: { "$deleteFromPrimitiveList/finalizers": [{}] } }, 422, /no scalar/],
    [pod({ "$setElementOrder/containers": {} }), 400, /setElementOrder/],
    [pod({ "$setElementOrder/containers": ["a"], containers: [{ name: "a" }] }), 400, /Order/],
    [pod({ "$setElementOrder/containers": [{}] }), 400, /setElementOrder/],
    [
      pod({
        "$setElementOrder/containers": [{ name: "a" }, { name: "b" }],
        containers: [{ name: "b" }, { name: "a" }],
      }),
      400,
      /The order in patch list/,
    ],
    [pod({ "$setElementOrder/containers": [], containers: 1 }), 400, /expected a list/],
    [containers({ image: "x" }), 422, /does not contain declared merge key: name/],
    [containers({ $patch: "delete" }), 422, /does not contain declared merge key: name/],
    [containers({ name: {} }), 422, /no scalar/],
    [pod({ containers: ["a"] }), 422, /list element types are not identical/],
    [pod({ containers: [["a"]] }), 422, /lists of lists are not supported/],
  ];
  for (const [patch, code, message] of table) {
    assert.throws(
      () => patched("core.v1.Pod", { ...named("a", "b"), ...finalizers("x") }, patch),
      (error) => error instanceof StatusError && error.code === code && message.test(error.message),
      JSON.stringify(patch),
    );
  }
});

const scalar = fc.oneof(
  fc.constantFrom("a", "b", "c"),
  fc.integer({ min: 0, max: 3 }),
  fc.boolean(),
);
const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 });
const someContainers = names.chain((list) =>
  fc.tuple(
    ...list.map((name) =>
      fc.record(
        {
          name: fc.constant(name),
          image: fc.constantFrom("1", "2"),
          env: names.map((inner) => inner.map((key) => ({ name: key, value: key }))),
          args: names,
        },
        { requiredKeys: ["name"], noNullPrototype: true },
      ),
    ),
  ),
);
const somePod = fc.record(
  {
    metadata: fc.record(
      {
        labels: fc.dictionary(fc.constantFrom("x", "y"), fc.string(), { noNullPrototype: true }),
        finalizers: names,
      },
      { requiredKeys: [], noNullPrototype: true },
    ),
    spec: fc.record(
      { containers: someContainers, hostname: fc.string(), nodeSelector: fc.constant({ a: "b" }) },
      { requiredKeys: [], noNullPrototype: true },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<JsonObject>;

test("an empty patch changes nothing; the object as its own patch neither", () => {
  fc.assert(
    fc.property(somePod, (object) => {
      assert.deepEqual(patched("core.v1.Pod", object, {}), object);
      assert.deepEqual(patched("core.v1.Pod", object, object), object);
    }),
  );
});

test("a patch without directives is idempotent", () => {
  fc.assert(
    fc.property(somePod, somePod, (object, patch) => {
      const once = patched("core.v1.Pod", object, patch);
      assert.deepEqual(patched("core.v1.Pod", once, patch), once);
    }),
  );
});

test("an order directive gives the named items their order and leaves the others in theirs", () => {
  fc.assert(
    fc.property(names, names, (current, order) => {
      const patch = pod({ "$setElementOrder/containers": order.map((name) => ({ name })) });
      const { spec } = patched("core.v1.Pod", named(...current), patch);
      const result = ((spec as JsonObject).containers as { name: string }[]).map(
        ({ name }) => name,
      );
      const isOrdered = (name: string) => (order as string[]).includes(name);
      assert.deepEqual([...result].sort(), [...current].sort());
      assert.deepEqual(
        result.filter(isOrdered),
        order.filter((name) => current.includes(name)),
      );
      const isOther = (name: string) => !isOrdered(name);
      assert.deepEqual(result.filter(isOther), current.filter(isOther));
    }),
  );
});

test("whatever the patch, it ends with an object or a Status of 400 or 422", () => {
  const wild = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      scalar,
      fc.constant(null),
      fc.constantFrom("replace", "delete", "merge"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          "metadata",
          "spec",
          "containers",
          "env",
          "name",
          "finalizers",
          "$patch",
          "$retainKeys",
          "$setElementOrder/containers",
          "$setElementOrder/finalizers",
          "$deleteFromPrimitiveList/finalizers",
        ),
        tie("value"),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  })).value;
  fc.assert(
    fc.property(fc.oneof(somePod, wild), wild, (current, patch) => {
      if (typeof current !== "object" || current === null || Array.isArray(current)) return;
      try {
        patched("core.v1.Pod", current, patch);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        assert.ok([400, 422].includes(error.code));
      }
    }),
    { numRuns: 2000 },
  );
});
