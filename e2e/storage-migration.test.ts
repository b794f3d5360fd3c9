/**
 * Migrations of what is stored, on a real etcd whose bytes are read: built-in kinds of several versions,
 * custom kinds with a conversion webhook, keys of encryption. Clients write and delete meanwhile, a webhook
 * fails, the process that works goes; afterwards nothing is left in the old form.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  openWebhookStub,
  type StubAnswer,
  type StubCall,
  type WebhookStub,
} from "../server/client/testing/webhook-stub.js";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import type { Revision, RevisionedStore } from "../storage/kv/store.js";
import { definitionOf, versionOf } from "./fixtures/definitions.js";
import {
  answerConversion,
  type ConversionReview,
  hostsConvertedBy,
} from "./harness/converted-hosts.js";
import { eventually, soon } from "./harness/eventually.js";
import type { ApiObject } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const HOSTS = (version: string) => `/apis/example.com/${version}/namespaces/default/hosts`;
const SCALERS = (version: string) =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
const SECRETS = "/api/v1/namespaces/default/secrets";
const SCALER_COUNT = 130;
const HOST_COUNT = 40;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function configuration(...names: readonly string[]): string {
  const providers = names.map((name) => {
    const secret = Buffer.from(name.padEnd(32, "!")).toString("base64");
    return { aesgcm: { keys: [{ name, secret }] } };
  });
  const apiVersion = "apiserver.config.k8s.io/v1";
  const resources = [{ resources: ["secrets"], providers }];
  return JSON.stringify({ apiVersion, kind: "EncryptionConfiguration", resources });
}

const text = { type: "string" };
const version = (name: string, storage: boolean, properties: object) =>
  versionOf(
    { type: "object", properties: { spec: { type: "object", properties } } },
    { name, storage },
  );

/** v1 has a host and a port, v2 an address. */
function definition(hook: WebhookStub, stored: "v1" | "v2"): ApiObject {
  return hostsConvertedBy(hook, [
    version("v1", stored === "v1", { host: text, port: { type: "integer" } }),
    version("v2", stored === "v2", { address: text }),
  ]) as ApiObject;
}

/** @param broken names of objects that it does not want to convert */
function convert(call: StubCall, broken: ReadonlySet<string>): StubAnswer {
  const { uid, objects } = (call.body as unknown as ConversionReview).request;
  const bad = objects.find(({ metadata }) => broken.has(metadata.name ?? ""));
  if (bad !== undefined) {
    const result = { status: "Failure", message: `${bad.metadata.name} is broken` };
    return { body: { ...call.body, response: { uid, result } } };
  }
  return answerConversion(call, ({ spec, ...object }, apiVersion) => {
    const [host, port] = String(spec.address ?? "").split(":");
    const converted = apiVersion.endsWith("/v1")
      ? { host, port: Number(port) }
      : { address: `${spec.host}:${spec.port}` };
    return { ...object, apiVersion, spec: converted };
  });
}

describe("migrations of what is stored", () => {
  let etcd: EtcdProcess;
  let raw: RevisionedStore;
  let folder: TempDir;
  let hook: WebhookStub;
  let server: ServerProcess;
  const broken = new Set<string>();

  const start = async () => {
    server = await startServer({
      etcdEndpoints: [etcd.endpoint],
      dataDir: join(folder.path, "data"),
      flags: [
        "--run-controllers",
        "--runtime-config=storagemigration.k8s.io/v1beta1=true",
        `--encryption-provider-config=${join(folder.path, "encryption.json")}`,
        "--encryption-provider-config-automatic-reload=true",
      ],
    });
  };

  before(async () => {
    etcd = await startEtcd();
    folder = await makeTempDir("storage-migration");
    hook = await openWebhookStub((call) => convert(call, broken), true);
    raw = await openEtcdStore(
      {
        endpoints: [etcd.endpoint],
        prefix: "/registry",
        clock: systemClock,
        logger: silentLogger,
      },
      soon(),
    );
    await folder.write("encryption.json", configuration("one"));
    await putOldScalers();
    await start();
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await hook?.[Symbol.asyncDispose]();
    await raw?.[Symbol.asyncDispose]();
    await etcd?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  /** As a release before has stored them: in autoscaling/v1. */
  async function putOldScalers(): Promise<void> {
    const operations = Array.from({ length: SCALER_COUNT }, (_, index) => {
      const name = `old-${String(index).padStart(3, "0")}`;
      const metadata = {
        name,
        namespace: "default",
        uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
        creationTimestamp: "2024-01-02T03:04:05Z",
      };
      const scaleTargetRef = { kind: "Deployment", name: "web", apiVersion: "apps/v1" };
      const spec = { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 70 };
      const kind = "HorizontalPodAutoscaler";
      const value = JSON.stringify({ kind, apiVersion: "autoscaling/v1", metadata, spec });
      const key = `/registry/autoscaling/horizontalpodautoscalers/default/${name}`;
      return { type: "put" as const, key, value: Buffer.from(value) };
    });
    for (let at = 0; at < operations.length; at += 100) {
      const batch = operations.slice(at, at + 100);
      await raw.commit({ compares: [], operations: batch }, soon());
    }
  }

  /** With what each value of a resource begins, by name. */
  async function heads(partition: string): Promise<ReadonlyMap<string, string>> {
    const prefix = `/registry/${partition}/`;
    const { kvs } = await raw.range({ prefix }, soon());
    return new Map(
      kvs.map(({ key, value }) => [
        key.slice(key.lastIndexOf("/") + 1),
        value.toString("latin1", 0, 80),
      ]),
    );
  }

  async function migrate(name: string, resource: string, group = ""): Promise<void> {
    const spec = { resource: { group, resource } };
    (await server.client.post(MIGRATIONS, { metadata: { name }, spec })).expect(201);
  }

  async function conditionsOf(path: string): Promise<ReadonlyMap<string, Condition>> {
    const { status } = (await server.client.get(path)).expect(200).object as {
      status?: { conditions?: Condition[] };
    };
    return new Map((status?.conditions ?? []).map((one) => [one.type, one]));
  }

  async function succeeds(name: string): Promise<void> {
    await eventually(`${name} succeeds`, async () => {
      const conditions = await conditionsOf(`${MIGRATIONS}/${name}`);
      assert.equal(conditions.get("Failed"), undefined, conditions.get("Failed")?.message);
      return conditions.get("Succeeded")?.status === "True";
    });
  }

  const revisionOf = async (path: string): Promise<Revision> =>
    Number((await server.client.get(path)).expect(200).object.metadata.resourceVersion) as Revision;

  test("what an older release has stored in another version is served, and rewritten by a migration", async () => {
    const { client } = server;
    const { object: v1 } = (await client.get(`${SCALERS("v1")}/old-007`)).expect(200);
    assert.equal(
      (v1.spec as { targetCPUUtilizationPercentage: number }).targetCPUUtilizationPercentage,
      70,
    );
    const { object: v2 } = (await client.get(`${SCALERS("v2")}/old-007`)).expect(200);
    assert.equal(v2.apiVersion, "autoscaling/v2");
    assert.equal((v2.spec as { metrics: unknown[] }).metrics.length, 1);
    assert.equal((await client.get(SCALERS("v2"))).expect(200).items.length, SCALER_COUNT);

    await migrate("scalers", "horizontalpodautoscalers", "autoscaling");
    await succeeds("scalers");

    const found = await heads("autoscaling/horizontalpodautoscalers");
    assert.equal(found.size, SCALER_COUNT);
    for (const [name, head] of found) {
      assert.match(head, /^{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling\/v2"/, name);
    }
    const migrated = (await client.get(`${SCALERS("v2")}/old-007`)).expect(200).object;
    const { resourceVersion: _, ...metadata } = migrated.metadata;
    const { resourceVersion: __, ...metadataBefore } = v2.metadata;
    assert.deepEqual({ ...migrated, metadata }, { ...v2, metadata: metadataBefore });
    const conditions = await conditionsOf(`${MIGRATIONS}/scalers`);
    assert.deepEqual([...conditions.keys()], ["Succeeded"]);
    assert.equal(conditions.get("Succeeded")?.reason, "StorageVersionMigrationSucceeded");
    const { status } = (await client.get(`${MIGRATIONS}/scalers`)).object as {
      status?: { resourceVersion?: string };
    };
    assert.match(status?.resourceVersion ?? "", /^\d+$/);
    const { text } = await client.get("/metrics");
    const counted = new RegExp(
      `storage_migrator_core_migrator_migrated_objects{resource="horizontalpodautoscalers.autoscaling"} ${SCALER_COUNT}\\n`,
    );
    assert.match(text, counted);

    // A second one finds nothing to do, and writes nothing.
    const before = await revisionOf(`${SCALERS("v2")}/old-007`);
    await migrate("scalers-again", "horizontalpodautoscalers", "autoscaling");
    await succeeds("scalers-again");
    assert.equal(await revisionOf(`${SCALERS("v2")}/old-007`), before);
  });

  test("custom objects are rewritten beside writers, past a webhook that fails and a process that goes", async () => {
    (await server.client.post(DEFINITIONS, definition(hook, "v1"))).expect(201);
    for (let index = 0; index < HOST_COUNT; index++) {
      const metadata = { name: `h-${index}` };
      const spec = { host: "h", port: index };
      const object = { apiVersion: "example.com/v1", kind: "Host", metadata, spec };
      (await server.client.post(HOSTS("v1"), object)).expect(201);
    }
    const stored = (await server.client.get(`${DEFINITIONS}/hosts.example.com`)).object;
    const { metadata } = stored;
    const next = { ...stored, spec: definition(hook, "v2").spec, metadata };
    (await server.client.put(`${DEFINITIONS}/hosts.example.com`, next)).expect(200);
    const versions = async () => {
      const { object } = (await server.client.get(`${DEFINITIONS}/hosts.example.com`)).expect(200);
      return (object.status as { storedVersions: string[] }).storedVersions;
    };
    assert.deepEqual(await versions(), ["v1", "v2"]);
    const generation = (await server.client.get(`${HOSTS("v1")}/h-1`)).object.metadata.generation;

    // One object cannot be converted: the others are, and the status says which it is.
    broken.add("h-3");
    await migrate("hosts", "hosts", "example.com");
    const running = await eventually("the trouble is told", async () => {
      const conditions = await conditionsOf(`${MIGRATIONS}/hosts`);
      const one = conditions.get("Running");
      return one?.message.includes("h-3 is broken") === true ? one : undefined;
    });
    assert.match(running.message, /^The migration is running: default\/h-3: /);
    const migrating = (await conditionsOf(`${DEFINITIONS}/hosts.example.com`)).get(
      "StorageMigrating",
    );
    assert.equal(migrating?.status, "True");
    assert.equal(migrating?.message, "Migration hosts is running");
    const olds = [...(await heads("example.com/hosts"))].filter(([, head]) =>
      head.includes('"example.com/v1"'),
    );
    assert.deepEqual(
      olds.map(([name]) => name),
      ["h-3"],
    );

    // The process that works is gone; the next one goes on, while clients write and delete.
    // One that is killed keeps its lease until that ends.
    await (isLong ? server.kill() : server.stop());
    await start();
    (await server.client.delete(`${HOSTS("v2")}/h-5`)).expect(200);
    broken.clear();
    const patch = (index: number) =>
      server.client.patch(`${HOSTS("v1")}/h-${index}`, { spec: { port: 100 + index } });
    for (const index of [6, 7, 8, 3]) (await patch(index)).expect(200);
    await succeeds("hosts");

    const found = await heads("example.com/hosts");
    assert.equal(found.size, HOST_COUNT - 1);
    for (const [name, head] of found) assert.match(head, /"apiVersion":"example.com\/v2"/, name);
    assert.deepEqual(await versions(), ["v2"]);
    const over = (await conditionsOf(`${DEFINITIONS}/hosts.example.com`)).get("StorageMigrating");
    assert.deepEqual([over?.status, over?.reason], ["False", "MigrationSucceeded"]);
    const { object } = (await server.client.get(`${HOSTS("v2")}/h-1`)).expect(200);
    assert.deepEqual(object.spec, { address: "h:1" });
    assert.equal(object.metadata.generation, generation);
    const three = (await server.client.get(`${HOSTS("v1")}/h-3`)).expect(200).object;
    assert.deepEqual(three.spec, { host: "h", port: 103 });

    // The old version can go now.
    const { object: last } = await server.client.get(`${DEFINITIONS}/hosts.example.com`);
    const spec = last.spec as { versions: { name: string }[] };
    const onlyNew = { ...spec, versions: spec.versions.filter(({ name }) => name === "v2") };
    (
      await server.client.put(`${DEFINITIONS}/hosts.example.com`, { ...last, spec: onlyNew })
    ).expect(200);
  });

  test("objects of an older schema are rewritten under the present one, and a label alone is no change of their spec", async () => {
    const definition = (properties: object) =>
      definitionOf("cars.example.com", "Car", { versions: [version("v1", true, properties)] });
    const definitionPath = `${DEFINITIONS}/cars.example.com`;
    (await server.client.post(DEFINITIONS, definition({ name: text }))).expect(201);
    const cars = "/apis/example.com/v1/namespaces/default/cars";
    for (const name of ["a", "b"]) {
      const car = { apiVersion: "example.com/v1", kind: "Car", metadata: { name } };
      (await server.client.post(cars, { ...car, spec: { name } })).expect(201);
    }
    const { object } = (await server.client.get(definitionPath)).expect(200);
    const wheels = { type: "integer", default: 4 };
    const changed = { ...object, spec: definition({ name: text, wheels }).spec };
    (await server.client.put(definitionPath, changed)).expect(200);

    const patch = { metadata: { labels: { l: "x" } } };
    const answer = await server.client.patch(`${cars}/a`, patch);
    assert.equal(answer.expect(200).object.metadata.generation, 1);
    assert.deepEqual(answer.object.spec, { name: "a", wheels: 4 });

    await migrate("cars", "cars", "example.com");
    await succeeds("cars");
    const { kv } = await raw.get("/registry/example.com/cars/default/b", {}, soon());
    const stored = JSON.parse(kv?.value.toString() ?? "{}");
    assert.deepEqual(stored.spec, { name: "b", wheels: 4 });
    assert.equal(stored.metadata.generation, 1);
  });

  test("after a new key of encryption a migration leaves nothing that is sealed with the old one", async () => {
    for (const name of ["a", "b", "c"]) {
      const object = { metadata: { name }, stringData: { password: name } };
      (await server.client.post(SECRETS, object)).expect(201);
    }
    const { resourceVersion } = (await server.client.get(`${SECRETS}/a`)).object.metadata;
    await folder.write("encryption.json", configuration("two", "one"));
    await eventually("the new key is in force", async () => {
      const probe = (await server.client.get(`${SECRETS}/b`)).object;
      (await server.client.put(`${SECRETS}/b`, probe)).expect(200);
      return (await heads("core/secrets")).get("b")?.startsWith("k8s:enc:aesgcm:v1:two:");
    });
    await migrate("secrets", "secrets");
    await succeeds("secrets");
    for (const [name, head] of await heads("core/secrets")) {
      assert.match(head, /^k8s:enc:aesgcm:v1:two:/, name);
    }
    const { object } = (await server.client.get(`${SECRETS}/a`)).expect(200);
    assert.notEqual(object.metadata.resourceVersion, resourceVersion);
    assert.deepEqual(object.data, { password: Buffer.from("a").toString("base64") });
  });

  test("a migration of what is not served, or cannot be read, fails and says why", async () => {
    await migrate("nothing", "unicorns", "example.com");
    const why = await eventually("it has failed", async () => {
      return (await conditionsOf(`${MIGRATIONS}/nothing`)).get("Failed");
    });
    assert.equal(why.reason, "StorageVersionMigrationFailed");
    assert.match(why.message, /: resource does not exist in discovery$/);

    const key = "/registry/core/secrets/default/lost";
    const put = { type: "put" as const, key, value: Buffer.from("k8s:enc:aesgcm:v1:gone:xyz") };
    await raw.commit({ compares: [], operations: [put] }, soon());
    await migrate("unreadable", "secrets");
    const lost = await eventually("it has failed", async () => {
      return (await conditionsOf(`${MIGRATIONS}/unreadable`)).get("Failed");
    });
    assert.match(lost.message, /default\/lost/);

    await using kubectl = await Kubectl.open(server);
    const listed = await kubectl.ok(["get", "storageversionmigrations", "-o", "name"]);
    assert.match(listed, /storageversionmigration\.storagemigration\.k8s\.io\/hosts/);
  });
});
