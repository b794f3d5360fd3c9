/** Attacks by the number of objects, and by what the server's own loops and lookups do with each of them. */
import { type Attack, type Attacker, NAMESPACE } from "./attack.js";
import { CORE, MAPS, numbers } from "./stray-places.js";

const BUDGETS = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`;
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

interface Made {
  readonly name: string;
  readonly uid: string;
}

/** An object whose metadata has hundreds of kilobytes. */
async function makeLarge(attacker: Attacker, name: string): Promise<Made> {
  const finalizers = numbers(12_000).map((at) => `example.com/finalizer-${at}`);
  const body = JSON.stringify({ metadata: { name, finalizers } });
  const answer = await attacker.post(MAPS, body);
  const metadata = answer?.object.metadata as { uid?: string } | undefined;
  return { name, uid: metadata?.uid ?? "" };
}

/** What the server's loops do of it goes on behind the answer. */
async function goOnReading(attacker: Attacker): Promise<void> {
  const endMs = performance.now() + 3_000;
  while (performance.now() < endMs && !attacker.signal.aborted) {
    await attacker.send(`${MAPS}/many-1`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What was left for other attacks goes. */
async function drop(attacker: Attacker, path: string): Promise<void> {
  const body = '{"metadata":{"finalizers":null}}';
  await attacker.patch(path, "merge-patch+json", body);
  await attacker.send(path, { method: "DELETE" });
}

function dependent(name: string, owners: readonly Made[]): string {
  const ownerReferences = owners.map((owner) => ({ ...CONFIG_MAP, ...owner }));
  return JSON.stringify({ metadata: { name, ownerReferences } });
}

const OWNERS: readonly Attack[] = [
  {
    name: "an object that names a large owner 9,000 times",
    async run(attacker) {
      const owner = await makeLarge(attacker, "large-owner");
      await attacker.post(MAPS, dependent("dependent", Array(9_000).fill(owner)));
      await goOnReading(attacker);
      await drop(attacker, `${MAPS}/dependent`);
      await drop(attacker, `${MAPS}/large-owner`);
    },
  },
  {
    name: "an object that names 9,000 owners which are nowhere",
    async run(attacker) {
      const owners = numbers(9_000).map((at) => ({ name: `nobody-${at}`, uid: `nobody-${at}` }));
      await attacker.post(MAPS, dependent("forlorn", owners));
      await goOnReading(attacker);
      await drop(attacker, `${MAPS}/forlorn`);
    },
  },
  {
    name: "a large owner leaves 150 orphans",
    async run(attacker) {
      const owner = await makeLarge(attacker, "leaves");
      await attacker.many(150, 20, (at) => attacker.post(MAPS, dependent(`orphan-${at}`, [owner])));
      await attacker.send(`${MAPS}/leaves?propagationPolicy=Orphan`, { method: "DELETE" });
      await goOnReading(attacker);
      await drop(attacker, `${MAPS}/leaves`);
      await attacker.many(150, 20, (at) => drop(attacker, `${MAPS}/orphan-${at}`));
    },
  },
  {
    name: "1,000 dependents of kinds that are unknown",
    async run(attacker) {
      await attacker.many(1_000, 20, (at) =>
        attacker.post(
          MAPS,
          JSON.stringify({
            metadata: {
              name: `unknown-${at}`,
              ownerReferences: [
                { apiVersion: "nobody.example.com/v1", kind: "Nobody", name: "a", uid: "a" },
              ],
            },
          }),
        ),
      );
      await goOnReading(attacker);
      await attacker.many(1_000, 20, (at) => drop(attacker, `${MAPS}/unknown-${at}`));
    },
  },
];

const POD = JSON.stringify({
  metadata: { name: "evicted", labels: { a: "b" } },
  spec: { containers: [{ name: "c", image: "i" }] },
});

const OTHERS: readonly Attack[] = [
  {
    name: "an eviction beside 40 disruption budgets of 200 KB",
    async run(attacker) {
      const values = numbers(9_000).map((at) => `value-of-a-label-${at}`);
      const matchExpressions = [{ key: "a", operator: "In", values }];
      await attacker.many(40, 4, (at) =>
        attacker.post(
          BUDGETS,
          JSON.stringify({
            metadata: { name: `budget-${at}` },
            spec: { minAvailable: 1, selector: { matchExpressions } },
          }),
        ),
      );
      await attacker.post(`${CORE}/pods`, POD);
      await attacker.patch(
        `${CORE}/pods/evicted/status`,
        "merge-patch+json",
        '{"status":{"phase":"Running"}}',
      );
      await attacker.post(
        `${CORE}/pods/evicted/eviction`,
        '{"metadata":{"name":"evicted"},"apiVersion":"policy/v1","kind":"Eviction"}',
      );
      await attacker.many(40, 10, (at) => drop(attacker, `${BUDGETS}/budget-${at}`));
      await attacker.send(`${CORE}/pods/evicted?gracePeriodSeconds=0`, { method: "DELETE" });
    },
  },
  {
    name: "300 watches by labels of an object that has 15,000",
    async run(attacker) {
      const labels = Object.fromEntries(numbers(15_000).map((at) => [`label-${at}`, "a"]));
      const body = JSON.stringify({ metadata: { name: "labelled", labels } });
      await attacker.post(MAPS, body);
      const refused = numbers(20).map((at) => `!nobody-${at}`);
      const query = `watch=1&timeoutSeconds=5&labelSelector=${encodeURIComponent(refused.join(","))}`;
      const watching = attacker.many(300, 300, () =>
        attacker.send(`${MAPS}?resourceVersion=0&${query}`),
      );
      for (let at = 0; at < 5; at++) {
        await attacker.patch(
          `${MAPS}/labelled`,
          "merge-patch+json",
          JSON.stringify({ data: { at: `${at}` } }),
        );
      }
      await watching;
      await drop(attacker, `${MAPS}/labelled`);
    },
  },
  {
    name: "Services that want 2,500 node ports",
    async run(attacker) {
      const ports = numbers(2_500).map((at) => ({ name: `p${at}`, port: at + 1 }));
      const body = JSON.stringify({
        metadata: { name: "ports" },
        spec: { type: "NodePort", ports },
      });
      await attacker.many(4, 2, () => attacker.post(`${CORE}/services?dryRun=All`, body));
    },
  },
  {
    name: "40 roles of 5,000 rules, bound to one user",
    async run(attacker) {
      const rules = numbers(5_000).map((at) => ({
        apiGroups: ["adversary.example.com"],
        resources: [`kind-${at}`],
        verbs: ["get"],
      }));
      await attacker.many(40, 2, async (at) => {
        await attacker.post(
          `${RBAC}/roles`,
          JSON.stringify({ metadata: { name: `wide-${at}` }, rules }),
        );
        await attacker.post(
          `${RBAC}/rolebindings`,
          JSON.stringify({
            metadata: { name: `wide-${at}` },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: `wide-${at}` },
            subjects: [{ kind: "ServiceAccount", name: "user", namespace: NAMESPACE }],
          }),
        );
      });
      await attacker.many(4, 2, () => attacker.send(`${MAPS}-nobody-serves`));
      await attacker.many(2, 1, () =>
        attacker.post(
          "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
          JSON.stringify({ spec: { namespace: NAMESPACE } }),
        ),
      );
    },
  },
];

export const CROWD_ATTACKS: readonly Attack[] = [...OWNERS, ...OTHERS].map((attack) => ({
  ...attack,
  name: `crowd: ${attack.name}`,
}));
