/**
 * An upgrade replica by replica, under load: three that emulate the older release behind a balancer, one
 * after the other made new. No request fails, what is written on one is the same on the others in every
 * version that both serve, no field is lost, and who watches meanwhile sees every change once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { type Balancer, NOTICED_SECONDS, startBalancer } from "./cluster/balancer.js";
import { MINIMAL_OBJECTS } from "./fixtures/minimal-objects.js";
import { eventually } from "./harness/eventually.js";
import { Follower } from "./harness/follower.js";
import { type ApiObject, HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore } from "./harness/stores.js";
import { findTool } from "./tools/find-tool.js";
import { freePort } from "./tools/free-port.js";

/** Without one nobody can be sent elsewhere: then there is no load. */
const HAS_BALANCER = (await findTool("haproxy")) !== undefined;

const FLAGS = [
  "--runtime-config=api/beta=true",
  "--run-controllers=false",
  // The balancer has to notice before connections are refused.
  `--shutdown-delay-duration=${NOTICED_SECONDS}s`,
  "--shutdown-watch-termination-grace-period=1s",
];
const OLDER = [...FLAGS, "--emulated-version=1.35"];

const POLICIES = (version: string) =>
  `/apis/admissionregistration.k8s.io/${version}/mutatingadmissionpolicies`;
const SCALERS = (version: string) =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
/** Where the older shape of scalers says what it has no field for. */
const BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior";
const MERGE = "application/merge-patch+json";

const policy = {
  metadata: { name: "p" },
  ...(MINIMAL_OBJECTS["mutatingadmissionpolicies.admissionregistration.k8s.io"]?.content as object),
};
const behavior = { scaleDown: { stabilizationWindowSeconds: 7 } };
const scaler = {
  metadata: { name: "s" },
  spec: {
    scaleTargetRef: { kind: "Deployment", name: "web", apiVersion: "apps/v1" },
    maxReplicas: 3,
    behavior,
  },
};

async function read(client: HttpsClient, path: string) {
  const { object } = (await client.get(path)).expect(200, path);
  return object;
}

async function label(client: HttpsClient, path: string, name: string): Promise<void> {
  const headers = { "content-type": MERGE };
  const body = { metadata: { labels: { [name]: "yes" } } };
  const url = `${path}?fieldManager=${name}`;
  (await client.request(url, { method: "PATCH", headers, body })).expect(200, name);
}

/** Clients that write through the balancer all the while, in either version, and miss nothing that they wrote. */
class Load {
  readonly failures: string[] = [];
  /** Of each object, all versions that there were of it. */
  readonly written = new Map<string, string[]>();
  requests = 0;
  readonly #url: string;
  readonly #first: HttpsClient;
  readonly #ending = new AbortController();
  #working: Promise<unknown> = Promise.resolve();

  constructor(url: string, first: HttpsClient) {
    this.#url = url;
    this.#first = first;
  }

  start(): void {
    const versions = ["v1", "v2"] as const;
    this.#working = Promise.all(
      versions.map(async (version, index) => {
        const client = new HttpsClient(this.#url, this.#first.credentials);
        await this.#work(client, `load-${index}`, version);
        client.close();
      }),
    );
  }

  /** Until more requests were answered. */
  async goesOn(): Promise<void> {
    const until = this.requests + 20;
    await eventually("the load goes on", () => this.requests > until);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#working;
  }

  async #work(client: HttpsClient, name: string, version: "v1" | "v2"): Promise<void> {
    const body = { ...scaler, metadata: { name } };
    const made = await this.#ask(client, SCALERS("v2"), "POST", body);
    const versions = [made?.metadata.resourceVersion ?? ""];
    this.written.set(name, versions);
    const annotations: Record<string, string> = {};
    for (let count = 0; !this.#ending.signal.aborted; count++) {
      // Alternately by the version that has the field, and by the one that carries it in annotations.
      const written = count % 2 === 0 ? version : "v2";
      annotations[`written-${count % 50}`] = String(count);
      const change = { metadata: { annotations } };
      const patched = await this.#ask(client, `${SCALERS(written)}/${name}`, "PATCH", change);
      versions.push(patched?.metadata.resourceVersion ?? "");
      const read = await this.#ask(client, `${SCALERS("v2")}/${name}`, "GET");
      for (const object of [patched, read]) this.#checkAnnotations(object, name, annotations);
      if (!isDeepStrictEqual(read?.spec, made?.spec)) this.failures.push(`${name}: another spec`);
    }
  }

  #checkAnnotations(
    object: Answered,
    name: string,
    annotations: Readonly<Record<string, string>>,
  ): void {
    for (const [key, value] of Object.entries(annotations)) {
      if (object?.metadata.annotations?.[key] !== value) {
        this.failures.push(`${name}: ${key} is not ${value}`);
      }
    }
  }

  async #ask(client: HttpsClient, path: string, method: string, body?: unknown): Promise<Answered> {
    const headers = { "content-type": method === "PATCH" ? MERGE : "application/json" };
    const send = () =>
      client.request(path, { method, headers, ...(body !== undefined && { body }) });
    this.requests++;
    try {
      // A read whose connection has just been closed is sent again, as every client does.
      const answer = await send().catch((error: unknown) => {
        if (method !== "GET") throw error;
        return send();
      });
      if (answer.status < 300) return answer.object;
      this.failures.push(`${method} ${path}: ${answer.status} ${answer.text}`);
    } catch (error) {
      this.failures.push(`${method} ${path}: ${error}`);
    }
    return undefined;
  }
}

type Answered = HttpsClient extends { get(path: string): Promise<{ object: infer T }> }
  ? T | undefined
  : never;

test("S2-VERS-08, S2-DEP-02, S2-DEP-04: replicas of two releases serve the same objects side by side, and an upgrade of all loses no request and no field", async (t) => {
  await using store = await openStore("etcd");
  const { etcdEndpoints } = store.etcd;
  assert.ok(etcdEndpoints);
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const start = (index: number, flags: readonly string[]) =>
    startServer({ etcdEndpoints, port: ports[index] ?? 0, flags });
  const replicas = await Promise.all(ports.map((_, index) => start(index, OLDER)));
  const opened: AsyncDisposable[] = [];
  const replica = (index: number) => replicas[index] as ServerProcess;
  const upgrade = async (index: number, balancer: Balancer | undefined) => {
    const { port } = replica(index);
    await replica(index).stop();
    replicas[index] = await start(index, FLAGS);
    assert.equal(replica(index).port, port);
    await balancer?.noticed(index);
  };
  try {
    await using balancer = HAS_BALANCER ? await startBalancer(ports) : undefined;
    if (!HAS_BALANCER) t.diagnostic("without HAProxy nobody asks while replicas are replaced");
    const load = balancer && new Load(balancer.url, replica(0).client);
    const follow = async (client: HttpsClient, path: string, from?: string) => {
      const follower = await Follower.open(client, path, from);
      opened.push(follower);
      return follower;
    };
    const [first, second] = [replica(0), replica(1)];
    (await first.client.get(POLICIES("v1"))).expect(404);
    (await first.client.post(POLICIES("v1beta1"), policy)).expect(201);
    const plain = { ...scaler, spec: { ...scaler.spec, behavior: undefined } };
    (await second.client.post(SCALERS("v1"), plain)).expect(201);
    await label(second.client, `${POLICIES("v1beta1")}/p`, "second");
    const { resourceVersion: begin } = (await read(first.client, SCALERS("v2"))).metadata;
    const balanced = balancer && new HttpsClient(balancer.url, first.client.credentials);
    const followed = [SCALERS("v1"), SCALERS("v2"), POLICIES("v1beta1")];
    const followers = balanced
      ? await Promise.all(followed.map((path) => follow(balanced, path)))
      : [];
    load?.start();
    await load?.goesOn();
    await upgrade(1, balancer);
    await sideBySide(replica(0).client, replica(1).client);

    await upgrade(2, balancer);
    await upgrade(0, balancer);
    await load?.goesOn();
    await load?.stop();
    assert.deepEqual(load?.failures ?? [], []);
    if (load !== undefined) {
      // Who was led from replica to replica, and who begins late, on one that was not there at the time.
      const late = replicas.map(({ client }) => follow(client, SCALERS("v2"), begin));
      await sawAll([...followers.slice(0, 2), ...(await Promise.all(late))], load.written);
      for (const { streams, failures, events } of followers) {
        assert.deepEqual(failures, []);
        assert.ok(streams > 1, "it was led elsewhere");
        assert.ok(events.length > 0);
      }
    }
    for (const { client } of replicas) {
      const { items } = (await client.get(POLICIES("v1"))).expect(200);
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["p", "q"],
      );
    }
  } finally {
    for (const one of opened) await one[Symbol.asyncDispose]();
    await Promise.all(replicas.map((one) => one[Symbol.asyncDispose]()));
  }
});

/** Every change once, in its order, with all fields. */
async function sawAll(
  followers: readonly Follower[],
  written: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  for (const follower of followers) {
    for (const [name, versions] of written) {
      await follower.hasSeen(name, versions.at(-1) ?? "");
      assert.deepEqual(follower.failures, []);
      const seen = follower.events.filter(({ object }) => object.metadata.name === name);
      assert.deepEqual(
        seen.map(({ object: { metadata } }) => metadata.resourceVersion),
        versions,
      );
      for (const { object } of seen) {
        const { metadata, spec, apiVersion } = object as ApiObject & { spec: typeof scaler.spec };
        const text =
          apiVersion === "autoscaling/v1"
            ? metadata.annotations?.[BEHAVIOR]
            : JSON.stringify(spec.behavior);
        assert.match(text ?? "", /"stabilizationWindowSeconds":7\b/i, apiVersion);
      }
    }
  }
}

/** What one of the older release and one of the newer make of the same objects. */
async function sideBySide(old: HttpsClient, renewed: HttpsClient): Promise<void> {
  const older = await read(old, `${POLICIES("v1beta1")}/p`);
  const newer = await read(renewed, `${POLICIES("v1")}/p`);
  assert.deepEqual({ ...newer, apiVersion: older.apiVersion }, older);
  assert.deepEqual(await read(renewed, `${POLICIES("v1beta1")}/p`), older);

  // The new replica writes in a version that the old one has never heard of.
  await label(renewed, `${POLICIES("v1")}/p`, "renewed");
  (await renewed.post(POLICIES("v1"), { ...policy, metadata: { name: "q" } })).expect(201);
  await label(old, `${POLICIES("v1beta1")}/q`, "first");
  await label(old, `${POLICIES("v1beta1")}/p`, "first");
  const { metadata } = await read(renewed, `${POLICIES("v1")}/p`);
  assert.deepEqual(metadata.labels, { second: "yes", renewed: "yes", first: "yes" });
  const { managedFields = [] } = metadata as { managedFields?: Record<string, string>[] };
  const owners = managedFields.map(({ manager, apiVersion = "" }) => [
    manager,
    apiVersion.split("/")[1],
  ]);
  for (const owner of [
    ["second", "v1beta1"],
    ["renewed", "v1"],
    ["first", "v1beta1"],
  ]) {
    assert.ok(
      owners.some((one) => `${one}` === `${owner}`),
      `${owner} of ${owners.join("; ")}`,
    );
  }

  // The older shape says the rest in annotations, and a write through it takes nothing away.
  const body = { spec: { behavior } };
  const headers = { "content-type": MERGE };
  const patch = { method: "PATCH", headers, body };
  (await renewed.request(`${SCALERS("v2")}/s`, patch)).expect(200);
  const scalerBefore = await read(renewed, `${SCALERS("v2")}/s`);
  await label(old, `${SCALERS("v1")}/s`, "first");
  const scalerAfter = await read(renewed, `${SCALERS("v2")}/s`);
  assert.deepEqual(scalerAfter.spec, scalerBefore.spec);

  const all = async (client: HttpsClient) =>
    (await client.get(POLICIES("v1beta1"))).expect(200).items.map(({ metadata: { name } }) => name);
  assert.deepEqual(await all(old), ["p", "q"]);
  assert.deepEqual(await all(renewed), ["p", "q"]);
}
