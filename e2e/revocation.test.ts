/**
 * Promise 6: what is revoked on one replica is refused by every other one from the next request on, and
 * what is granted is allowed. Three replicas over one etcd; a round takes a permission away on one of
 * them in one of several ways, tries at once on the other two, gives it back, and tries again. No
 * waiting, no second try: one stale answer fails the test.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type ApiObject, HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const REPLICAS = 3;
const ROUNDS = isLong ? 1_000 : 120;
/** A slow machine does what it can in this time, but never less than the minimum. */
const TIME_MS = isLong ? 20_000 : 4_000;
/** Each way of revoking on each replica, three times over. */
const ROUNDS_MIN = 40;

const GROUP = "rbac.authorization.k8s.io";
const RBAC = `/apis/${GROUP}/v1`;
const SHOP = "/api/v1/namespaces/shop";

const ROLE = `${RBAC}/namespaces/shop/roles/reader`;
const BINDING = `${RBAC}/namespaces/shop/rolebindings/readers`;
const PART = `${RBAC}/clusterroles/part`;
const AGGREGATED = `${RBAC}/clusterrolebindings/gathered`;

const rules = (verbs: string[], resources: string[]) => [{ apiGroups: [""], verbs, resources }];
const jane = { kind: "User", apiGroup: GROUP, name: "jane" };
const roleRef = (kind: string, name: string) => ({ apiGroup: GROUP, kind, name });

const role = {
  metadata: { name: "reader" },
  rules: rules(["get", "list", "create"], ["configmaps"]),
};
const binding = {
  metadata: { name: "readers" },
  roleRef: roleRef("Role", "reader"),
  subjects: [{ kind: "Group", apiGroup: GROUP, name: "ops" }, jane],
};
const part = {
  metadata: { name: "part", labels: { "to-gathered": "true" } },
  rules: rules(["get", "list", "create"], ["configmaps"]),
};

interface Way {
  readonly name: string;
  readonly revoke: (admin: HttpsClient) => Promise<{ status: number; text: string }>;
  readonly grant: (admin: HttpsClient) => Promise<{ status: number; text: string }>;
}

const put = (path: string, object: object) => (admin: HttpsClient) => admin.put(path, object);
const remove = (path: string) => (admin: HttpsClient) => admin.delete(path);

/** Each leaves jane without the permission, which only the thing that it changes gave her. */
const NAMESPACED: readonly Way[] = [
  { name: "the binding is deleted", revoke: remove(BINDING), grant: put(BINDING, binding) },
  {
    name: "the subject is taken off the binding",
    revoke: put(BINDING, { ...binding, subjects: binding.subjects.slice(0, 1) }),
    grant: put(BINDING, binding),
  },
  {
    name: "the role loses its rules",
    revoke: put(ROLE, { ...role, rules: rules(["delete"], ["pods"]) }),
    grant: put(ROLE, role),
  },
  { name: "the role is deleted", revoke: remove(ROLE), grant: put(ROLE, role) },
];

/** The same for a role that gathers what others have. */
const GATHERED: readonly Way[] = [
  {
    name: "a gathered role loses its label",
    revoke: put(PART, { ...part, metadata: { name: "part" } }),
    grant: put(PART, part),
  },
  { name: "a gathered role is deleted", revoke: remove(PART), grant: put(PART, part) },
  {
    name: "a gathered role loses its rules",
    revoke: put(PART, { ...part, rules: rules(["get"], ["pods"]) }),
    grant: put(PART, part),
  },
];

/** What jane tries; the reads ask for fresh data, as nearly all clients do. */
const TRIES: readonly ((client: HttpsClient) => Promise<{ status: number }>)[] = [
  (client) => client.get(`${SHOP}/configmaps`),
  (client) => client.get(`${SHOP}/configmaps/there`),
  (client) => client.post(`${SHOP}/configmaps?dryRun=All`, { metadata: { name: "new" } }),
];

describe("revocation across replicas", () => {
  const servers: ServerProcess[] = [];
  const janes: HttpsClient[] = [];
  const dirs: AsyncDisposable[] = [];
  let etcd: EtcdProcess | undefined;

  before(async () => {
    etcd = await startEtcd();
    const dir = await makeTempDir("revocation");
    dirs.push(dir);
    const authority = await TestAuthority.create("people");
    const caFile = await dir.write("people.pem", authority.certificate);
    const flags = ["--authorization-mode=RBAC", `--client-ca-file=${caFile}`];
    const etcdEndpoints = [etcd.endpoint];
    const starts = Array.from({ length: REPLICAS }, () => startServer({ etcdEndpoints, flags }));
    servers.push(...(await Promise.all(starts)));
    const identity = await authority.issue({ commonName: "jane" });
    for (const { url, credentials } of servers) {
      janes.push(new HttpsClient(url, { ...identity, ca: credentials.ca }));
    }
    const admin = servers[0]?.client as HttpsClient;
    const make = async (path: string, object: object) =>
      (await admin.post(path, object)).expect(201, path);
    await make("/api/v1/namespaces", { metadata: { name: "shop" } });
    await make(`${SHOP}/configmaps`, { metadata: { name: "there" } });
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: "gathered" },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "to-gathered": "true" } }] },
    });
  });
  after(async () => {
    for (const client of janes) client.close();
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    await etcd?.[Symbol.asyncDispose]();
    for (const dir of dirs) await dir[Symbol.asyncDispose]();
  });

  /** Tries on all replicas but the one that wrote. */
  async function expectOf(writer: number, round: number, isAllowed: boolean, what: string) {
    const attempt = TRIES[round % TRIES.length] as (typeof TRIES)[number];
    await Promise.all(
      janes.map(async (client, replica) => {
        if (replica === writer) return;
        const { status } = await attempt(client);
        const seen = status === 403 ? "refused" : `answered with ${status}`;
        assert.equal(
          status !== 403,
          isAllowed,
          `round ${round}: ${what} on replica ${writer}, ${seen} by replica ${replica}`,
        );
      }),
    );
  }

  async function play(ways: readonly Way[], rounds: number, timeMs: number): Promise<number> {
    const end = performance.now() + timeMs;
    for (let round = 0; round < rounds; round++) {
      if (performance.now() > end && round >= ROUNDS_MIN) return round;
      const way = ways[round % ways.length] as Way;
      const writer = Math.floor(round / ways.length) % REPLICAS;
      const admin = servers[writer]?.client as HttpsClient;
      const revoked = await way.revoke(admin);
      assert.equal(revoked.status, 200, revoked.text);
      await expectOf(writer, round, false, way.name);
      const granted = await way.grant(admin);
      assert.ok(granted.status < 300, granted.text);
      await expectOf(writer, round, true, `granted again after: ${way.name}`);
    }
    return rounds;
  }

  async function createAll(...objects: readonly (readonly [string, object])[]): Promise<void> {
    const admin = servers[0]?.client as HttpsClient;
    for (const [path, object] of objects) {
      const answer = await admin.put(path, object);
      assert.ok(answer.status < 300, `${path}: ${answer.text}`);
    }
  }

  test("S2-RBAC-30: roles and bindings are in force for the next request on every replica", async (t) => {
    await createAll([ROLE, role], [BINDING, binding]);
    const rounds = await play(NAMESPACED, ROUNDS, TIME_MS);
    t.diagnostic(`${rounds} rounds`);
    await servers[0]?.client.delete(BINDING);
  });

  test("S2-RBAC-12, S2-RBAC-30: so is what aggregated roles gather", async (t) => {
    const bound = {
      metadata: { name: "gathered" },
      roleRef: roleRef("ClusterRole", "gathered"),
      subjects: [jane],
    } satisfies Partial<ApiObject>;
    await createAll([PART, part], [AGGREGATED, bound]);
    const rounds = await play(GATHERED, ROUNDS / 4, TIME_MS / 4);
    t.diagnostic(`${rounds} rounds`);
  });
});
