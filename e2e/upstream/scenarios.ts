/**
 * Requests in an order that means something, asked of both peers: definitions that change, names that
 * clash, subresources, tables, selectors, discovery, and what is wrong with each.
 */
import { eventually } from "../harness/eventually.js";
import { compare, type Difference } from "./compare.js";
import type { Peers } from "./peers.js";

type Json = Record<string, unknown>;

export interface Step {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
}

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CARS = "/apis/cars.example.com/v1/namespaces/default/cars";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const MERGE = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const APPLY = "application/apply-patch+yaml";

const text = { type: "string" };
const integer = { type: "integer" };

const schema = {
  type: "object",
  description: "A car.",
  properties: {
    spec: {
      type: "object",
      properties: {
        color: { ...text, enum: ["red", "green"], default: "red" },
        seats: { ...integer, minimum: 1 },
        isFast: { type: "boolean" },
        ratio: { type: "number" },
        built: { ...text, format: "date-time" },
        parts: {
          type: "array",
          items: { type: "object", properties: { name: text, count: integer }, required: ["name"] },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
        },
        replicas: integer,
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
    status: {
      type: "object",
      properties: { replicas: integer, selector: text, phase: text },
    },
  },
};

const columns = [
  { name: "Color", type: "string", jsonPath: ".spec.color" },
  { name: "Seats", type: "integer", jsonPath: ".spec.seats", format: "int32" },
  { name: "Fast", type: "boolean", jsonPath: ".spec.isFast" },
  { name: "Ratio", type: "number", jsonPath: ".spec.ratio", priority: 1 },
  { name: "Built", type: "date", jsonPath: ".spec.built", description: "When." },
  { name: "Parts", type: "string", jsonPath: ".spec.parts[*].name" },
  { name: "First", type: "string", jsonPath: ".spec.parts[0]" },
  { name: "Any", type: "string", jsonPath: ".spec.any" },
  { name: "Wrong", type: "integer", jsonPath: ".spec.color" },
  { name: "Count", type: "string", jsonPath: ".spec.seats" },
  { name: "Phase", type: "string", jsonPath: ".status.phase" },
];

export const version = (more: Json = {}): Json => ({
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  selectableFields: [
    { jsonPath: ".spec.color" },
    { jsonPath: ".spec.seats" },
    { jsonPath: ".spec.isFast" },
  ],
  additionalPrinterColumns: columns,
  ...more,
});

const NAMES = { plural: "cars", kind: "Car", shortNames: ["cr"], categories: ["all", "wheels"] };

const definition = (more: Json = {}, names: Json = {}, meta: Json = {}): Json => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "cars.cars.example.com", ...meta },
  spec: {
    group: "cars.example.com",
    scope: "Namespaced",
    names: { ...NAMES, ...names },
    versions: [version()],
    ...more,
  },
});

const car = (name: string, spec: Json = {}, more: Json = {}): Json => ({
  apiVersion: "cars.example.com/v1",
  kind: "Car",
  metadata: { name },
  spec,
  ...more,
});

const get = (path: string, accept?: string): Step => ({
  method: "GET",
  path,
  ...(accept === undefined ? {} : { accept }),
});
const post = (path: string, body: unknown): Step => ({ method: "POST", path, body });
const put = (path: string, body: unknown): Step => ({ method: "PUT", path, body });
const patch = (path: string, body: unknown, type = MERGE): Step => ({
  method: "PATCH",
  path,
  body,
  type,
});
const remove = (path: string, body?: unknown): Step => ({ method: "DELETE", path, body });

const judged = (more: Json, names: Json = {}, meta: Json = {}) =>
  post(`${DEFINITIONS}?dryRun=All`, definition(more, names, meta));
const columned = (...one: Json[]) =>
  judged({ versions: [version({ additionalPrinterColumns: one })] });
const selected = (...paths: string[]) =>
  judged({ versions: [version({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) })] });
const scaled = (scale: Json) => judged({ versions: [version({ subresources: { scale } })] });
const second = (more: Json = {}) => version({ name: "v2", storage: false, ...more });
const hook = (more: Json = {}, config: Json = { url: "https://example.com/x" }) => ({
  conversion: {
    strategy: "Webhook",
    webhook: { clientConfig: config, conversionReviewVersions: ["v1"], ...more },
  },
});

/** Definitions as a whole, judged and not kept. */
const DEFINITION_STEPS: readonly Step[] = [
  judged({}),
  judged({ group: "cars" }),
  judged({ group: "Cars.example.com" }),
  judged({ group: "" }),
  judged({ scope: "Wide" }),
  judged({ scope: "" }),
  judged({}, { plural: "Cars" }),
  judged({}, { plural: "" }),
  judged({}, { singular: "Car" }),
  judged({}, { kind: "" }),
  judged({}, { kind: "car!" }),
  judged({}, { listKind: "Car" }),
  judged({}, { listKind: "cars list" }),
  judged({}, { shortNames: ["CR", "cr", "c r"] }),
  judged({}, { categories: ["A"] }),
  judged({}, {}, { name: "other.cars.example.com" }),
  judged({}, {}, { name: "" }),
  judged({ versions: [] }),
  judged({ versions: [version({ storage: false })] }),
  judged({ versions: [version(), version()] }),
  judged({ versions: [version(), version({ name: "v2" })] }),
  judged({ versions: [version({ name: "V1" })] }),
  judged({ versions: [version({ name: "" })] }),
  judged({ versions: [version({ served: false })] }),
  judged({ versions: [version({ schema: null })] }),
  judged({ versions: [version({ schema: {} })] }),
  judged({ versions: [version(), second({ schema: null })] }),
  judged({ versions: [version(), second({ subresources: null })] }),
  judged({ versions: [version(), second({ additionalPrinterColumns: [columns[0]] })] }),
  judged({ versions: [version({ deprecationWarning: "old" })] }),
  judged({ versions: [version({ deprecated: true, deprecationWarning: "" })] }),
  judged({ versions: [version({ deprecated: true, deprecationWarning: "a\nb" })] }),
  judged({ versions: [version({ deprecated: true, deprecationWarning: "x".repeat(300) })] }),
  judged({ preserveUnknownFields: true }),
  judged({ preserveUnknownFields: false }),
  judged({ conversion: { strategy: "Magic" } }),
  judged({ conversion: { strategy: "" } }),
  judged({ conversion: { strategy: "None", webhook: { conversionReviewVersions: ["v1"] } } }),
  judged({ conversion: { strategy: "Webhook" } }),
  judged(hook()),
  judged(hook({ conversionReviewVersions: [] })),
  judged(hook({ conversionReviewVersions: ["v1", "v1"] })),
  judged(hook({ conversionReviewVersions: ["v9"] })),
  judged(hook({ conversionReviewVersions: ["V 1"] })),
  judged(hook({}, { url: "http://example.com" })),
  judged(hook({}, { url: "https://u:p@example.com/?a=b#c" })),
  judged(hook({}, {})),
  judged(hook({}, { url: "https://a.b", service: { name: "a", namespace: "b" } })),
  judged(hook({}, { service: { name: "", namespace: "" } })),
  judged(hook({}, { service: { name: "a", namespace: "b", port: 0, path: "x" } })),
  judged(hook({}, { url: "https://a.b", caBundle: "bm90IGEgY2VydA==" })),
  columned({ name: "", type: "string", jsonPath: ".a" }),
  columned({ name: "A", type: "", jsonPath: ".a" }),
  columned({ name: "A", type: "text", jsonPath: ".a" }),
  columned({ name: "A", type: "string", format: "odd", jsonPath: ".a" }),
  columned({ name: "A", type: "string", jsonPath: "" }),
  columned({ name: "A", type: "string", jsonPath: "a" }),
  columned({ name: "A", type: "string", jsonPath: ".a[" }),
  columned({ name: "A", type: "string", jsonPath: ".a[?(@.x=='y')].z" }),
  columned({ name: "A", type: "string", jsonPath: ".a..b" }),
  columned({ name: "A", type: "string", jsonPath: "{.a}" }),
  selected(""),
  selected("spec.color"),
  selected(".spec.nope"),
  selected(".spec.any"),
  selected(".spec.parts"),
  selected(".spec.parts[0].name"),
  selected(".spec['color']"),
  selected(".spec.ratio"),
  selected(".metadata.name"),
  selected(".spec.color", ".spec.color"),
  selected(".spec"),
  scaled({}),
  scaled({ specReplicasPath: ".spec.replicas" }),
  scaled({ specReplicasPath: ".replicas", statusReplicasPath: ".status.replicas" }),
  scaled({ specReplicasPath: ".spec.replicas", statusReplicasPath: ".spec.replicas" }),
  scaled({ specReplicasPath: ".spec.a[0]", statusReplicasPath: ".status.a" }),
  scaled({ specReplicasPath: "spec.a", statusReplicasPath: ".status.a", labelSelectorPath: ".x" }),
  judged({ group: "cars.k8s.io" }, {}, { name: "cars.cars.k8s.io" }),
  judged(
    { group: "cars.k8s.io" },
    {},
    {
      name: "cars.cars.k8s.io",
      annotations: { "api-approved.kubernetes.io": "nothing" },
    },
  ),
  judged(
    { group: "cars.k8s.io" },
    {},
    {
      name: "cars.cars.k8s.io",
      annotations: {
        "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1",
      },
    },
  ),
  judged({
    versions: [
      version({ schema: { openAPIV3Schema: { ...schema, required: ["spec"], minProperties: 1 } } }),
    ],
  }),
  judged({ versions: [version({ schema: { openAPIV3Schema: { ...schema, type: "array" } } })] }),
  judged({ versions: [version({ schema: { openAPIV3Schema: { ...schema, nullable: true } } })] }),
  judged({ versions: [version({ schema: { openAPIV3Schema: { ...schema, default: {} } } })] }),
];

const built = { built: "2020-01-02T03:04:05Z", parts: [{ name: "a", count: 1 }, { name: "b" }] };

/** Objects of one kind and the kind itself, through their life. */
const LIFE_STEPS: readonly Step[] = [
  post(DEFINITIONS, definition()),
  get(`${CARS}?served=wait`),
  get("/apis/cars.example.com"),
  get("/apis/cars.example.com/v1"),
  post(
    CARS,
    car("one", {
      ...built,
      seats: 4,
      isFast: true,
      ratio: 0.5,
      any: { b: [1, null], a: { c: "d" } },
    }),
  ),
  post(CARS, car("two", { color: "green", seats: 2 }, { status: { phase: "Ignored" } })),
  post(CARS, car("one")),
  post(CARS, car("Bad Name")),
  post(CARS, car("three", { color: "blue", seats: 0, built: "yesterday", extra: 1 })),
  post(`${CARS}?fieldValidation=Strict`, car("three", { extra: 1, parts: [{ name: "a", x: 1 }] })),
  post(CARS, car("three", { parts: [{ name: "a" }, { name: "a" }] })),
  post(CARS, { ...car("three"), kind: "Cart" }),
  post(CARS, { ...car("three"), apiVersion: "cars.example.com/v2" }),
  post(CARS, { ...car("three"), metadata: { name: "three", labels: { a: 1 } } }),
  post(CARS, {
    ...car("three"),
    metadata: { name: "three", labels: { "a b": "c" }, finalizers: ["x"] },
  }),
  post(CARS, { ...car("three"), metadata: { name: "three", namespace: "other" } }),
  post(CARS, { ...car("three"), metadata: { name: "three", nope: 1 } }),
  post(CARS, { metadata: { name: "bare" } }),
  post(CARS, { ...car("odd"), spec: null }),
  post(CARS, { ...car("odd2"), spec: [] }),
  post(CARS, "not json"),
  get(`${CARS}/one`),
  get(`${CARS}/nobody`),
  get(CARS),
  get(CARS, TABLE),
  get(`${CARS}/one`, TABLE),
  get(`${CARS}?limit=1`, TABLE),
  get(CARS, "application/vnd.kubernetes.protobuf"),
  get(`${CARS}?fieldSelector=spec.color%3Dgreen`),
  get(`${CARS}?fieldSelector=spec.color!%3Dgreen,spec.isFast%3Dtrue`),
  get(`${CARS}?fieldSelector=spec.seats%3D4`),
  get(`${CARS}?fieldSelector=spec.isFast%3D`),
  get(`${CARS}?fieldSelector=spec.nope%3D4`),
  get(`${CARS}?fieldSelector=metadata.name%3Done`),
  get(`${CARS}?labelSelector=a%3Db`),
  get(`${CARS}/one/status`),
  put(
    `${CARS}/one/status`,
    car("one", { color: "green" }, { status: { phase: "Ready", replicas: 2, selector: "a=b" } }),
  ),
  patch(`${CARS}/one/status`, { status: { phase: 5 } }),
  patch(`${CARS}/one/status`, {
    status: { nope: 5 },
    spec: { seats: 9 },
    metadata: { labels: { l: "m" } },
  }),
  patch(`${CARS}/one`, { status: { phase: "Nope" }, metadata: { labels: { l: "m" } } }),
  get(`${CARS}/one/scale`),
  patch(`${CARS}/one/scale`, { spec: { replicas: 3 } }),
  patch(`${CARS}/one/scale`, { spec: { replicas: -3 } }),
  get(`${CARS}/one`),
  patch(`${CARS}/one`, { spec: { replicas: null } }),
  get(`${CARS}/one/scale`),
  get(`${CARS}/one/nope`),
  patch(`${CARS}/one`, { spec: { seats: null, color: null } }),
  patch(`${CARS}/one`, { spec: { seats: "many" } }),
  patch(`${CARS}/one`, [{ op: "replace", path: "/spec/seats", value: 7 }], JSON_PATCH),
  patch(`${CARS}/one`, [{ op: "test", path: "/spec/seats", value: 8 }], JSON_PATCH),
  patch(`${CARS}/one`, [{ op: "remove", path: "/spec/none" }], JSON_PATCH),
  patch(`${CARS}/one`, [{ op: "add", path: "/spec/x", value: 8 }], JSON_PATCH),
  patch(`${CARS}/one`, { spec: {} }, STRATEGIC),
  patch(`${CARS}/one`, { metadata: { name: "other" } }),
  patch(`${CARS}/one`, { apiVersion: "cars.example.com/v9" }),
  patch(`${CARS}/one`, {}),
  patch(`${CARS}/nobody`, {}),
  patch(`${CARS}/two?fieldManager=m`, car("two", { seats: 3 }), APPLY),
  patch(
    `${CARS}/two?fieldManager=m&force=true`,
    car("two", { seats: 3, parts: [{ name: "z" }] }),
    APPLY,
  ),
  patch(`${CARS}/two?fieldManager=m&force=true`, car("two", { seats: 3, nope: 1 }), APPLY),
  patch(`${CARS}/two?fieldManager=m&force=true`, car("two", {}), APPLY),
  patch(`${CARS}/new?fieldManager=m`, car("new", { seats: 1 }), APPLY),
  patch(`${CARS}/two`, car("two", { seats: 3 }), APPLY),
  put(`${CARS}/two`, car("two", { color: "red", seats: 1 })),
  put(`${CARS}/two`, car("other", {})),
  put(`${CARS}/nobody`, car("nobody", {})),
  get(`${CARS}/two`),
  remove(`${CARS}/two`),
  remove(`${CARS}/two`),
  remove(`${CARS}/bare`, { preconditions: { uid: "nope" } }),
  remove(`${CARS}?fieldSelector=spec.color%3Dgreen`),
  get(CARS),
];

const OWN = `${DEFINITIONS}/cars.cars.example.com`;
const spec = (more: Json) => patch(OWN, { spec: more });

/** The definition changes under its objects. */
const CHANGE_STEPS: readonly Step[] = [
  spec({ scope: "Cluster" }),
  spec({ group: "other.example.com" }),
  spec({ names: { kind: "Bike" } }),
  spec({ names: { plural: "bikes" } }),
  spec({ names: { shortNames: ["wagon"], categories: [] } }),
  spec({ versions: [version({ name: "v2" })] }),
  spec({ versions: [version(), second()] }),
  get("/apis/cars.example.com/v2/namespaces/default/cars?served=wait"),
  spec({ versions: [version({ storage: false }), second({ storage: true })] }),
  spec({ versions: [second({ storage: true })] }),
  spec({ versions: [version({ storage: false, deprecated: true }), second({ storage: true })] }),
  get(`${CARS}/one?served=warned`),
  get("/apis/cars.example.com/v2/namespaces/default/cars/one"),
  patch(`${OWN}/status`, { status: { storedVersions: [] } }),
  patch(`${OWN}/status`, { status: { storedVersions: ["v1"] } }),
  patch(`${OWN}/status`, { status: { storedVersions: ["v2", "v9"] } }),
  patch(`${OWN}/status`, { status: { acceptedNames: { plural: "Bad" } } }),
  patch(`${OWN}/status`, { status: { storedVersions: ["v2"] } }),
  spec({ versions: [second({ storage: true })] }),
  get("/apis/cars.example.com?versions=1"),
  put(OWN, definition({ versions: [second({ storage: true, schema: null })] })),
  get(OWN, TABLE),
  remove(OWN),
];

async function run(peers: Peers, steps: readonly Step[], found: Difference[]): Promise<void> {
  for (const { method, path, body, type, accept } of steps) {
    if (/\?(?:served|versions)=/.test(path)) await waitUntilServed(peers, path);
    const headers = {
      ...(type === undefined ? {} : { "content-type": type }),
      ...(accept === undefined ? {} : { accept }),
    };
    const options = {
      method,
      headers:
        type === undefined && typeof body === "string"
          ? { ...headers, "content-type": "application/json" }
          : headers,
      body,
    };
    const { difference } = await compare(peers, path, options);
    if (difference !== undefined) found.push({ ...difference, sent: body });
  }
}

/** There a definition is in force some time after its write, and told of some time later. */
export async function waitUntilServed({ theirs }: Peers, path: string): Promise<void> {
  const isWarned = path.endsWith("?served=warned");
  const isAlone = path.endsWith("?versions=1");
  const [, apis, group, version] = path.split("/");
  const documents = [`/${apis}/${group}/${version}`, `/${apis}/${group}`];
  await eventually(`${path} is served`, async () => {
    const { status, headers, object } = await theirs.get(path);
    if (isAlone) return (object as { readonly versions?: object[] }).versions?.length === 1;
    if (status !== 200 || (isWarned && headers.warning === undefined)) return false;
    const told = await Promise.all(documents.map((document) => theirs.get(document)));
    return told.every((answer) => answer.status === 200);
  });
}

export async function playScenarios(
  peers: Peers,
): Promise<{ asked: number; differences: Difference[] }> {
  const differences: Difference[] = [];
  const all = [DEFINITION_STEPS, LIFE_STEPS, CHANGE_STEPS];
  for (const steps of all) await run(peers, steps, differences);
  return { asked: all.flat().length, differences };
}
