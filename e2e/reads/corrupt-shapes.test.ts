/** Objects that are readable JSON of a wrong shape, written behind the server's back, from a seed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { furnished } from "../harness/furnished-namespace.js";
import type { Answer, ApiObject } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { startEtcd } from "../tools/etcd.js";
import { openRawEtcdAt } from "./raw-etcd.js";

const SEED = Number(process.env.SHAPES_SEED ?? 1 + Math.floor(Math.random() * 1e9));
const OBJECTS_PER_KIND = 10;
const NAMESPACE = "broken";
const FINE = "/api/v1/namespaces/default/configmaps";
const GATE = "--feature-gates=AllowUnsafeMalformedObjectDeletion=true";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const metadata = (form: string) => `application/json;as=${form};v=v1;g=meta.k8s.io`;
const FORMS = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  TABLE,
  metadata("PartialObjectMetadata"),
];
const LISTED_FORMS = [...FORMS.slice(0, -1), metadata("PartialObjectMetadataList")];
/** There is no stream of YAML. */
const WATCHED_FORMS = FORMS.filter((form) => !form.includes("yaml"));

interface Subject {
  /** Where it is in the store, below the prefix. */
  readonly partition: string;
  /** Collections that show it, in the versions that differ. */
  readonly paths: readonly string[];
  readonly object: Record<string, unknown>;
}

const container = { name: "c", image: "i", env: [{ name: "A", value: "1" }] };
const template = {
  metadata: { labels: { app: "x" } },
  spec: { containers: [container] },
};

const SUBJECTS: readonly Subject[] = [
  {
    partition: "core/configmaps",
    paths: [`/api/v1/namespaces/${NAMESPACE}/configmaps`],
    object: { kind: "ConfigMap", apiVersion: "v1", data: { a: "b" } },
  },
  {
    partition: "core/serviceaccounts",
    paths: [`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`],
    object: { kind: "ServiceAccount", apiVersion: "v1", secrets: [{ name: "s" }] },
  },
  {
    partition: "core/pods",
    paths: [`/api/v1/namespaces/${NAMESPACE}/pods`],
    object: { kind: "Pod", apiVersion: "v1", spec: template.spec },
  },
  {
    partition: "apps/deployments",
    paths: [`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`],
    object: {
      kind: "Deployment",
      apiVersion: "apps/v1",
      spec: { selector: { matchLabels: { app: "x" } }, template },
    },
  },
  {
    partition: "autoscaling/horizontalpodautoscalers",
    paths: ["v1", "v2"].map(
      (version) => `/apis/autoscaling/${version}/namespaces/${NAMESPACE}/horizontalpodautoscalers`,
    ),
    object: {
      kind: "HorizontalPodAutoscaler",
      apiVersion: "autoscaling/v1",
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" },
        targetCPUUtilizationPercentage: 50,
      },
    },
  },
  {
    partition: "core/events",
    paths: [
      `/api/v1/namespaces/${NAMESPACE}/events`,
      `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`,
    ],
    object: {
      kind: "Event",
      apiVersion: "v1",
      involvedObject: { kind: "Pod", namespace: NAMESPACE, name: "p" },
      reason: "R",
      message: "m",
      type: "Normal",
      source: { component: "c" },
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
    },
  },
];

const JUNK: readonly unknown[] = [
  null,
  5,
  -1.5,
  1e30,
  "x",
  "",
  true,
  [],
  [null],
  [[]],
  {},
  { a: 1 },
];

test(`S1-UNS-08, S1-UNS-11, S1-UNS-12: stored JSON of a wrong shape is 200 or StoreReadError wherever it is met, and harms nothing else (SHAPES_SEED=${SEED})`, async () => {
  const random = randomFrom(SEED);
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint], flags: [GATE] });
  await using raw = await openRawEtcdAt(etcd.endpoint, "/registry");
  const { client } = server;
  const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name: NAMESPACE } };
  (await client.post("/api/v1/namespaces", namespace)).expect(201);
  await furnished(client, NAMESPACE);
  (await client.post(FINE, toConfigMap("fine"))).expect(201);

  const members: { readonly path: string; readonly name: string; readonly text: string }[] = [];
  for (const { partition, paths, object } of SUBJECTS) {
    for (let index = 0; index < OBJECTS_PER_KIND; index++) {
      const name = `x-${index}`;
      const whole = { ...object, metadata: { name, namespace: NAMESPACE, labels: { app: "x" } } };
      (await client.post(paths[0] as string, whole)).expect(201, partition);
      const key = `/registry/${partition}/${NAMESPACE}/${name}`;
      const text = JSON.stringify(misshapen(await storedIn(raw, key), index, random));
      await raw.put(key, text);
      for (const path of paths) members.push({ path, name, text });
    }
  }

  for (const { path, name, text } of members) {
    const url = `${path}/${name}`;
    for (const form of FORMS)
      refuseDefect(await client.get(url, form), `GET ${url} ${form} ${text}`);
    const patch = await client.patch(url, { metadata: { annotations: { seen: "yes" } } });
    refuseDefect(patch, `PATCH ${url} ${text}`, 422);
    refuseDefect(await client.delete(`${url}?dryRun=All`), `DELETE ${url} ${text}`, 404);
  }
  const collections = SUBJECTS.flatMap(({ paths }) => paths);
  for (const path of collections) {
    for (const form of LISTED_FORMS)
      refuseDefect(await client.get(path, form), `LIST ${path} ${form}`);
  }
  const watches = collections.flatMap((path) =>
    WATCHED_FORMS.map(async (form) => {
      const url = `${path}?watch=1&timeoutSeconds=1&resourceVersion=0`;
      const told = (await client.get(url, form)).expect(200, url);
      assert.ok(!told.text.includes("InternalError"), `${url} ${form}`);
    }),
  );
  await Promise.all(watches);
  (await client.get(`${FINE}/fine`)).expect(200);
  (await client.post(FINE, toConfigMap("later"))).expect(201);

  // Loops go on: what can be read goes with its namespace, the rest by hand, and then the namespace.
  (await client.delete(`/api/v1/namespaces/${NAMESPACE}`)).expect(200);
  const unsafe = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ignoreStoreReadErrorWithClusterBreakingPotential: true,
  };
  for (const { path, name, text } of members) {
    const url = `${path}/${name}`;
    const read = await client.get(url);
    if (read.status === 404) continue;
    const forced = await client.delete(url, unsafe);
    // One that can be read is refused, and what the loop has deleted meanwhile is gone.
    if (forced.status === 200 || read.status === 500) {
      assert.ok([200, 404].includes(forced.status), `${url} ${text} ${forced.text}`);
      (await client.get(url)).expect(404, `${url} ${text}`);
    } else {
      assert.ok([404, 422].includes(forced.status), `${url} ${text} ${forced.text}`);
      refuseDefect(
        await client.delete(`${url}?gracePeriodSeconds=0`),
        `DELETE ${url} ${text}`,
        404,
      );
    }
  }
  await eventually("lists are whole again", async () => {
    const answers = await Promise.all(collections.map((path) => client.get(path)));
    return answers.every(({ status }) => status === 200) || undefined;
  });
  (await client.get(FINE)).expect(200);
  assert.equal(server.hasEnded, false);
});

async function storedIn(
  raw: { get(key: string): Promise<string> },
  key: string,
): Promise<ApiObject> {
  return JSON.parse(await raw.get(key)) as ApiObject;
}

/** Two in three have something wrong in their metadata or below it, so that both halves are met. */
function misshapen(object: ApiObject, index: number, random: () => number): ApiObject {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  if (index % 3 === 0) {
    const member = pick([
      "labels",
      "annotations",
      "ownerReferences",
      "finalizers",
      "managedFields",
    ]);
    return { ...object, metadata: { ...object.metadata, [member]: pick(JUNK) } };
  }
  let at: Record<string, unknown> = object as unknown as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(at).filter((key) => !["kind", "apiVersion"].includes(key));
    const key = pick(keys);
    const below = at[key];
    if (
      typeof below !== "object" ||
      below === null ||
      Object.keys(below).length === 0 ||
      random() < 0.3
    ) {
      at[key] = pick(JUNK);
      return object;
    }
    at = below as Record<string, unknown>;
  }
}

function refuseDefect(answer: Answer, what: string, ...others: readonly number[]): void {
  if (answer.status === 200 || others.includes(answer.status)) return;
  answer.expect(500, what);
  assert.ok(answer.text.includes("StoreReadError"), `${what}: ${answer.text}`);
}

function toConfigMap(name: string) {
  return { kind: "ConfigMap", apiVersion: "v1", metadata: { name } };
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
