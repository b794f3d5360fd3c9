/**
 * Rules decide by transaction: a write is judged by the rules in force, on whichever replica and by
 * whomever. Two replicas over one etcd, and the administrator, for whom no request waits until the
 * view is fresh. A round changes a rule on one replica and at once writes what it judges on the other;
 * it changes the rule back, and writes again. No waiting, no second try: one write that an older rule
 * has judged fails the test.
 *
 * What etcd tells the second replica is on its way for some milliseconds, so that its view is behind in
 * every round. Some hundred rounds for each kind of rule; 10,000 in `npm run test:long`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bindingOf } from "./harness/grant.js";
import { type ApiObject, HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";
import { startTcpProxy, type TcpProxy } from "./tools/tcp-proxy.js";

const ROUNDS = isLong ? 10_000 : 200;
/** A slow machine does what it can in this time, but never less than the minimum. */
const TIME_MS = isLong ? 30 * 60_000 : 2_000;
const ROUNDS_MIN = 50;
/** Actors of one kind of rule at the same time, each in a namespace of its own. */
const ACTORS = 4;
/** How far the view of the second replica is behind. */
const LAG_MS = 5;

interface Scene {
  /** The replica that changes the rule, and the one that is written through. */
  readonly ruler: HttpsClient;
  readonly writer: HttpsClient;
  /** The second replica, for somebody who may not do everything. */
  readonly jane: HttpsClient;
  readonly namespace: string;
  /** "/api/v1/namespaces/<namespace>" */
  readonly path: string;
}

interface Rule {
  readonly name: string;
  prepare?(scene: Scene): Promise<void>;
  /** Puts one of two rules in force. */
  change(scene: Scene, isStrict: boolean): Promise<void>;
  /** Writes, and says which of the two has judged the write. */
  isStrict(scene: Scene, name: string): Promise<boolean>;
}

async function expectWritten(writing: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await writing;
  assert.ok(status < 300, `${status} ${text}`);
}

/** Whether a create is refused; what was created is deleted again. */
async function isRefused(client: HttpsClient, path: string, object: Named): Promise<boolean> {
  const { status, text } = await client.post(path, object);
  assert.ok(status === 201 || status === 403, `${status} ${text}`);
  if (status === 201) await removeAtOnce(client, `${path}/${object.metadata.name}`);
  return status === 403;
}

interface Named {
  readonly metadata: { readonly name: string };
}

async function removeAtOnce(client: HttpsClient, path: string): Promise<void> {
  await expectWritten(client.delete(path, { gracePeriodSeconds: 0 }));
}

/** What the stored object has at a path. */
async function createPod({ writer, path }: Scene, name: string): Promise<ApiObject> {
  const spec = { containers: [{ name: "c", image: "i" }] };
  const answer = await writer.post(`${path}/pods`, { metadata: { name }, spec });
  assert.equal(answer.status, 201, answer.text);
  await removeAtOnce(writer, `${path}/pods/${name}`);
  return answer.object;
}

const RULES: readonly Rule[] = [
  {
    name: "the Pod Security level of a namespace",
    async change({ ruler, namespace }, isStrict) {
      const labels = {
        "pod-security.kubernetes.io/enforce": isStrict ? "restricted" : "privileged",
      };
      const body = { metadata: { name: namespace, labels } };
      await expectWritten(ruler.put(`/api/v1/namespaces/${namespace}`, body));
    },
    isStrict({ writer, path }, name) {
      const spec = { containers: [{ name: "c", image: "i" }] };
      return isRefused(writer, `${path}/pods`, { metadata: { name }, spec } as Named);
    },
  },
  {
    name: "a LimitRange",
    async prepare({ ruler, path }) {
      const limits = [{ type: "Container", default: { cpu: "1" } }];
      const body = { metadata: { name: "limits" }, spec: { limits } };
      await expectWritten(ruler.post(`${path}/limitranges`, body));
    },
    async change({ ruler, path }, isStrict) {
      const limits = [{ type: "Container", default: { cpu: isStrict ? "1" : "2" } }];
      const body = { metadata: { name: "limits" }, spec: { limits } };
      await expectWritten(ruler.put(`${path}/limitranges/limits`, body));
    },
    async isStrict(scene, name) {
      const { spec } = await createPod(scene, name);
      const [container] = (spec as { containers: { resources: { limits?: { cpu: string } } }[] })
        .containers;
      return container?.resources.limits?.cpu === "1";
    },
  },
  {
    name: "a ResourceQuota",
    async prepare({ ruler, path }) {
      const body = { metadata: { name: "quota" }, spec: { hard: { secrets: "0" } } };
      await expectWritten(ruler.post(`${path}/resourcequotas`, body));
    },
    async change({ ruler, path }, isStrict) {
      const hard = isStrict ? { secrets: "0" } : {};
      const used = isStrict ? { secrets: "0" } : {};
      const body = { metadata: { name: "quota" }, status: { hard, used } };
      await expectWritten(ruler.put(`${path}/resourcequotas/quota/status`, body));
    },
    isStrict: ({ writer, path }, name) =>
      isRefused(writer, `${path}/secrets`, { metadata: { name } }),
  },
  {
    name: "a PriorityClass that is the default",
    async prepare({ ruler, namespace }) {
      const body = { metadata: { name: namespace }, value: 1000 };
      await expectWritten(ruler.post(CLASSES, body));
    },
    async change({ ruler, namespace }, isStrict) {
      const body = { metadata: { name: namespace }, value: 1000, globalDefault: isStrict };
      await expectWritten(ruler.put(`${CLASSES}/${namespace}`, body));
    },
    async isStrict(scene, name) {
      const { spec } = await createPod(scene, name);
      return (spec as { priority?: number }).priority === 1000;
    },
  },
];

/** A definition of the actor's own group, whose objects have a number up to one of two bounds. */
const DEFINITION: Rule = {
  name: "a CustomResourceDefinition",
  async prepare({ ruler, namespace }) {
    const group = `${namespace}.example.com`;
    const names = { plural: "cars", singular: "car", kind: "Car", listKind: "CarList" };
    const versions = versionsOf(9);
    const spec = { group, scope: "Namespaced", names, versions };
    const metadata = { name: `cars.${group}` };
    await expectWritten(ruler.post(DEFINITIONS, { metadata, spec }));
  },
  async change({ ruler, namespace }, isStrict) {
    const body = JSON.stringify({ spec: { versions: versionsOf(isStrict ? 1 : 9) } });
    const path = `${DEFINITIONS}/cars.${namespace}.example.com`;
    await expectWritten(ruler.patch(path, body));
  },
  async isStrict({ writer, namespace }, name) {
    const group = `${namespace}.example.com`;
    const path = `/apis/${group}/v1/namespaces/${namespace}/cars`;
    const car = { apiVersion: `${group}/v1`, kind: "Car", metadata: { name }, seats: 5 };
    const { status, text } = await writer.post(path, car);
    assert.ok(status === 201 || status === 422, `${status} ${text}`);
    if (status === 201) await removeAtOnce(writer, `${path}/${name}`);
    return status === 422;
  },
};

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function versionsOf(maximum: number): object[] {
  const properties = { seats: { type: "integer", maximum } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return [{ name: "v1", served: true, storage: true, schema }];
}

/** Jane may write roles, and grant only what she has. */
const GRANTS: Rule = {
  name: "a role, for who grants what it gives",
  async prepare({ ruler, namespace }) {
    const make = async (name: string, rules: object[]) => {
      await expectWritten(ruler.post(rolesOf(namespace), { metadata: { name }, rules }));
      const binding = bindingOf(name, `Role ${name}`, "User jane");
      await expectWritten(ruler.post(`${RBAC}/namespaces/${namespace}/rolebindings`, binding));
    };
    await make("writer", [
      { apiGroups: [GROUP], resources: ["roles"], verbs: ["create", "delete"] },
    ]);
    await make("grant", []);
  },
  async change({ ruler, namespace }, isStrict) {
    const rules = isStrict ? [] : READS_PODS;
    await expectWritten(
      ruler.put(`${rolesOf(namespace)}/grant`, { metadata: { name: "grant" }, rules }),
    );
  },
  isStrict: ({ jane, namespace }, name) => {
    const role = { metadata: { name }, rules: READS_PODS };
    return isRefused(jane, rolesOf(namespace), role);
  },
};

const GROUP = "rbac.authorization.k8s.io";
const RBAC = `/apis/${GROUP}/v1`;
const READS_PODS = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
const rolesOf = (namespace: string) => `${RBAC}/namespaces/${namespace}/roles`;

const CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses";
/** There is one default for the cluster, so its rule has one actor. */
const ALONE = "a PriorityClass that is the default";

describe("rules across replicas", () => {
  const servers: ServerProcess[] = [];
  let etcd: EtcdProcess | undefined;
  let proxy: TcpProxy | undefined;
  let jane: HttpsClient | undefined;
  let dir: TempDir | undefined;

  before(async () => {
    etcd = await startEtcd();
    proxy = await startTcpProxy(etcd.endpoint, LAG_MS);
    const endpoints = [etcd.endpoint, proxy.endpoint];
    // Quotas are put in force by the test itself, and pods need no account.
    dir = await makeTempDir("rules");
    const authority = await TestAuthority.create("people");
    const caFile = await dir.write("people.pem", authority.certificate);
    const flags = [
      "--controllers=*,-resourcequota",
      "--disable-admission-plugins=ServiceAccount",
      `--client-ca-file=${caFile}`,
    ];
    const starts = endpoints.map((one) => startServer({ etcdEndpoints: [one], flags }));
    servers.push(...(await Promise.all(starts)));
    const identity = await authority.issue({ commonName: "jane" });
    const second = servers[1];
    assert.ok(second !== undefined);
    jane = new HttpsClient(second.url, { ...identity, ca: second.credentials.ca });
  });
  after(async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    jane?.close();
    await dir?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });

  async function open(namespace: string): Promise<Scene> {
    const [ruler, writer] = servers.map(({ client }) => client);
    assert.ok(ruler !== undefined && writer !== undefined && jane !== undefined);
    const path = `/api/v1/namespaces/${namespace}`;
    await expectWritten(ruler.post("/api/v1/namespaces", { metadata: { name: namespace } }));
    return { ruler, writer, jane, namespace, path };
  }

  /** @returns how many writes were judged by an older rule, of how many */
  async function play(rule: Rule, scene: Scene, rounds: number, endMs: number) {
    await rule.prepare?.(scene);
    let stale = 0;
    let round = 0;
    for (; round < rounds; round++) {
      if (performance.now() > endMs && round * ACTORS >= ROUNDS_MIN) break;
      const isStrict = round % 2 === 0;
      await rule.change(scene, isStrict);
      if ((await rule.isStrict(scene, `x${round}`)) !== isStrict) stale++;
    }
    return { stale, round };
  }

  for (const [index, rule] of [...RULES, DEFINITION, GRANTS].entries()) {
    test(`RulesInForce: a write is never judged by an older rule: ${rule.name}`, async (t) => {
      const actors = rule.name === ALONE ? 1 : ACTORS;
      const endMs = performance.now() + TIME_MS;
      const results = await Promise.all(
        Array.from({ length: actors }, async (_, actor) => {
          const scene = await open(`rules-${index}-${actor}`);
          return await play(rule, scene, Math.ceil(ROUNDS / actors), endMs);
        }),
      );
      const rounds = results.reduce((sum, { round }) => sum + round, 0);
      const stale = results.reduce((sum, one) => sum + one.stale, 0);
      t.diagnostic(`${rounds} rounds`);
      assert.equal(stale, 0, `${stale} of ${rounds} writes were judged by an older rule`);
    });
  }
});
