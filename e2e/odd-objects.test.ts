/**
 * Odd objects in the store, as an older or a foreign server, or a hand at etcd, may leave them: of every kind that
 * is stored, objects with a part that is something else, from a seed. Each may cost itself; all else is served,
 * while they come, after a restart, and with them gone. KEELSON_SEED repeats a run.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { SEED } from "../storage/base/testing/random.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import type { Operation, RevisionedStore } from "../storage/kv/store.js";
import {
  MINIMAL_NAMESPACE,
  MINIMAL_OBJECTS,
  type MinimalObject,
} from "./fixtures/minimal-objects.js";
import { furnished } from "./harness/furnished-namespace.js";
import type { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, type StoreForTest } from "./harness/stores.js";

/** Odd forms of each stored object. */
const FORMS = isLong ? 24 : 5;
/** All that can be served is, so that everybody who follows something does. */
const FLAGS = [
  "--feature-gates=AllAlpha=true,AllowUnsafeMalformedObjectDeletion=true",
  "--runtime-config=api/all=true",
  "--enable-control-planes",
];
/** Kinds that have no row among the smallest objects, as they are not always served. */
const OTHERS: Readonly<Record<string, MinimalObject>> = {
  "controlplanes.tenancy.k8s.io": { content: { spec: {} } },
  "storageversions.internal.apiserver.k8s.io": {
    name: (n) => `odd.example.com-things${n}`,
    content: { spec: {}, status: { conditions: [] } },
  },
  "storageversionmigrations.storagemigration.k8s.io": {
    content: { spec: { resource: { group: "apps", resource: "deployments" } } },
  },
  "things.odd.example.com": { content: { spec: { a: [1, { b: "c" }] } } },
};
const THINGS = {
  metadata: { name: "things.odd.example.com" },
  spec: {
    group: "odd.example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};
const UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential";
const OPTIONS_KIND = { kind: "DeleteOptions", apiVersion: "v1" };
const PREFIX = "/registry/";
const signal = new AbortController().signal;

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

const ODD: readonly Json[] = [
  null,
  true,
  42,
  -1,
  1.5,
  1e308,
  "",
  "odd",
  "\ud800",
  [],
  {},
  [null],
  [[]],
  [{}],
  { odd: null },
  { odd: 42 },
  { odd: { odd: [] } },
  "9223372036854775808",
  "-1Gi",
  "(",
  "[a-",
  "2030-13-41",
];

/** A sequence of numbers from a seed. */
class Sequence {
  #state: number;

  constructor(seed: number) {
    this.#state = seed + 1;
  }

  below(max: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * max);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

/** Puts something odd somewhere into the value. */
function makeOdd(value: Json, draw: Sequence, depth = 0): Json {
  const isLeaf = typeof value !== "object" || value === null;
  if (isLeaf || (depth > 1 && draw.below(5) === 0)) return draw.pick(ODD);
  if (Array.isArray(value)) {
    const at = draw.below(value.length + 1);
    return [
      ...value.slice(0, at),
      makeOdd(value[at] ?? null, draw, depth + 1),
      ...value.slice(at + 1),
    ];
  }
  const members = Object.keys(value).filter((key) => depth > 0 || !/^(kind|apiVersion)$/.test(key));
  if (members.length === 0 || draw.below(8) === 0) return { ...value, oddMember: draw.pick(ODD) };
  const key = draw.pick(members);
  return { ...value, [key]: makeOdd(value[key] ?? null, draw, depth + 1) };
}

interface Stored {
  readonly key: string;
  readonly path: string;
}

describe(`odd objects in the store (seed ${SEED})`, () => {
  let etcd: StoreForTest;
  let raw: RevisionedStore;
  let server: ServerProcess;
  const odd: Stored[] = [];
  const sound: string[] = [];

  before(async () => {
    etcd = await openStore("etcd");
    const endpoints = etcd.etcd.etcdEndpoints ?? [];
    const base = { clock: systemClock, logger: silentLogger };
    raw = await openEtcdStore({ ...base, endpoints, prefix: PREFIX.slice(0, -1) }, signal);
    server = await startServer({ ...etcd.etcd, flags: FLAGS });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await raw[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  test("H7: while they come, everything else is read and written", async (t) => {
    const { client } = server;
    (await client.post("/api/v1/namespaces", { metadata: { name: MINIMAL_NAMESPACE } })).expect(
      201,
    );
    await furnished(client, MINIMAL_NAMESPACE);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    (await client.post(definitions, THINGS)).expect(201);
    await furnished(client);
    const draw = new Sequence(SEED);
    for (const made of await createAll(client)) {
      sound.push(made.path);
      const value = await storedUnder(raw, made.key);
      assert.ok(value !== undefined, `${made.key} is where it is stored`);
      for (let form = 0; form < FORMS; form++) {
        const name = made.oddName(form);
        const named = {
          ...value,
          metadata: { ...(value.metadata as object), name, uid: `odd-${name}` },
        };
        const key = made.key.slice(0, made.key.lastIndexOf("/") + 1) + name;
        await put(raw, key, makeOdd(named as Json, draw));
        odd.push({ key, path: made.path.slice(0, made.path.lastIndexOf("/") + 1) + name });
      }
    }
    t.diagnostic(`${odd.length} odd objects beside ${sound.length}`);
    assert.ok(odd.length > 200);
    await isServed(server, sound);
  });

  test("H7: a replica that starts with them serves everything else", async () => {
    await server.stop();
    const { dataDir } = server;
    server = await startServer({ ...etcd.etcd, flags: FLAGS, dataDir });
    await isServed(server, sound);
  });

  test("H7: each can be deleted, the unreadable by unsafe deletion, and nothing is left of them", async (t) => {
    const findings: string[] = [];
    let unreadable = 0;
    for (const { key, path } of odd) {
      const { status } = await server.client.get(path);
      if (status >= 500) unreadable++;
      const isUnreadable = status >= 500;
      const deleted = await (!isUnreadable
        ? server.client.delete(`${path}?gracePeriodSeconds=0&propagationPolicy=Background`)
        : unreadable % 2 === 0
          ? server.client.delete(path, { ...OPTIONS_KIND, [UNSAFE]: true })
          : server.client.delete(`${path}?${UNSAFE}=true`));
      if (isUnreadable ? deleted.status !== 200 : deleted.status >= 500) {
        findings.push(`GET ${path}: ${status}, DELETE: ${deleted.status} ${deleted.text}`);
        findings.push(JSON.stringify(await storedUnder(raw, key)));
      }
      // Finalizers and refusals of rules are not about oddity.
      await remove(raw, key);
    }
    t.diagnostic(`${unreadable} unreadable`);
    assert.deepEqual(findings, [], `seed ${SEED}`);
    await isServed(server, sound);
  });
});

/** Reads of everything sound, and a write, succeed. */
async function isServed({ client, logs }: ServerProcess, sound: readonly string[]): Promise<void> {
  const findings: string[] = [];
  for (const path of [...sound, "/readyz", "/api/v1/namespaces/default", "/apis"]) {
    const { status, text } = await client.get(path);
    if (status !== 200) findings.push(`GET ${path}: ${status} ${text.slice(0, 300)}`);
  }
  const spec = { containers: [{ name: "a", image: "example.test/a" }] };
  for (const [resource, rest] of [
    ["configmaps", { data: { a: "b" } }],
    ["pods", { spec }],
    ["services", { spec: { ports: [{ port: 80 }] } }],
    [
      "persistentvolumeclaims",
      { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    ],
  ] as const) {
    const path = `/api/v1/namespaces/default/${resource}?dryRun=All`;
    const { status, text } = await client.post(path, { metadata: { name: "even" }, ...rest });
    if (status !== 201) findings.push(`POST ${path}: ${status} ${text.slice(0, 300)}`);
  }
  const why = `seed ${SEED}\n${logs
    .split("\n")
    .filter((line) => line.includes('"level":50'))
    .slice(-5)
    .join("\n")}`;
  assert.deepEqual(findings, [], why);
}

interface Made {
  readonly key: string;
  readonly path: string;
  oddName(form: number): string;
}

interface Served {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** One object of every kind that can be created, and where it is stored. */
async function createAll(client: HttpsClient): Promise<Made[]> {
  const made: Made[] = [];
  const seen = new Set<string>();
  const { groups } = (await client.get("/apis")).expect(200).object as unknown as {
    groups: { name: string; preferredVersion: { groupVersion: string } }[];
  };
  const versions = [
    ["", "v1"],
    ...groups.map((one) => [one.name, one.preferredVersion.groupVersion]),
  ];
  for (const [group = "", groupVersion = ""] of versions) {
    const base = group === "" ? `/api/${groupVersion}` : `/apis/${groupVersion}`;
    const { resources } = (await client.get(base)).expect(200).object as unknown as {
      resources: Served[];
    };
    for (const { name: resource, kind, namespaced, verbs } of resources) {
      const id = group === "" ? resource : `${resource}.${group}`;
      const isStored =
        !resource.includes("/") && ["create", "get"].every((verb) => verbs.includes(verb));
      // Events have one place for both of their groups.
      if (!isStored || seen.has(id) || id === "events.events.k8s.io") continue;
      seen.add(id);
      const row = OTHERS[id] ?? MINIMAL_OBJECTS[id];
      assert.ok(row !== undefined, `${id} is stored: it needs a row here or in MINIMAL_OBJECTS`);
      const place = namespaced ? `namespaces/${MINIMAL_NAMESPACE}/` : "";
      const collection = `${base}/${place}${resource}`;
      const nameOf = (n: number) => row.name?.(n) ?? `odd-${n}`;
      const name = nameOf(100);
      const named = { apiVersion: groupVersion, kind, metadata: { name } };
      const body = { ...named, ...row.content, ...row.forName?.(name) };
      (await client.post(collection, body)).expect(201, id);
      const inStore = namespaced ? `${MINIMAL_NAMESPACE}/` : "";
      made.push({
        key: `${PREFIX}${group === "" ? "core" : group}/${resource}/${inStore}${name}`,
        path: `${collection}/${name}`,
        oddName: nameOf,
      });
    }
  }
  return made;
}

async function storedUnder(
  store: RevisionedStore,
  key: string,
): Promise<{ [member: string]: Json } | undefined> {
  const { kv } = await store.get(key, {}, signal);
  return kv && (JSON.parse(kv.value.toString()) as { [member: string]: Json });
}

function put(store: RevisionedStore, key: string, value: Json): Promise<unknown> {
  return commit(store, { type: "put", key, value: Buffer.from(JSON.stringify(value)) });
}

function remove(store: RevisionedStore, key: string): Promise<unknown> {
  return commit(store, { type: "delete", key });
}

function commit(store: RevisionedStore, operation: Operation): Promise<unknown> {
  return store.commit({ compares: [], operations: [operation] }, signal);
}
