/** What people see: the columns of `kubectl get`, narrow, wide and while they watch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Kubectl } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";

const SHOP = fileURLToPath(new URL("../../e2e/fixtures/shop", import.meta.url));

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "front" },
  spec: { containers: [{ name: "main", image: "shop.example/front" }] },
};

const CLUSTER_OBJECTS = [
  {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", labels: { "kubernetes.io/role": "edge" } },
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "fast" },
    provisioner: "disks.example",
  },
  {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "high" },
    value: 10,
  },
];

const SECONDS = String.raw`\d+s`;

/** Arguments of `kubectl get`, the header, and one row; words are apart by blanks. */
const TABLES: readonly [args: string, header: string, row: string][] = [
  ["configmaps", "NAME DATA AGE", `settings \\d+ ${SECONDS}`],
  ["secrets", "NAME TYPE DATA AGE", `payment Opaque \\d+ ${SECONDS}`],
  ["serviceaccounts", "NAME SECRETS AGE", `web 0 ${SECONDS}`],
  ["deployments", "NAME READY UP-TO-DATE AVAILABLE AGE", `web 0/\\d 0 0 ${SECONDS}`],
  [
    "deployments -o wide",
    "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR",
    `web 0/\\d 0 0 ${SECONDS} \\S+ \\S+ app=web`,
  ],
  [
    "services",
    "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT\\(S\\) AGE",
    `web ClusterIP \\S+ <none> 80/TCP ${SECONDS}`,
  ],
  [
    "cronjobs",
    "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE",
    `nightly-report .* False 0 <none> ${SECONDS}`,
  ],
  ["ingresses", "NAME CLASS HOSTS ADDRESS PORTS AGE", `web \\S+ \\S+ 80(, 443)? ${SECONDS}`],
  ["roles", "NAME CREATED AT", "read-settings \\d{4}-\\S+Z"],
  ["rolebindings", "NAME ROLE AGE", `web-reads-settings Role/read-settings ${SECONDS}`],
  [
    "rolebindings -o wide",
    "NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS",
    `web-reads-settings Role/read-settings ${SECONDS} \\S*/web`,
  ],
  ["pods", "NAME READY STATUS RESTARTS AGE", `front 0/1 Pending 0 ${SECONDS}`],
  [
    "pods -o wide",
    "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES",
    `front 0/1 Pending 0 ${SECONDS} <none> <none> <none> <none>`,
  ],
  ["namespaces", "NAME STATUS AGE", `default Active ${SECONDS}`],
  ["nodes", "NAME STATUS ROLES AGE VERSION", `n1 Unknown edge ${SECONDS}`],
  [
    "storageclasses",
    "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE",
    `fast disks.example Delete Immediate false ${SECONDS}`,
  ],
  [
    "priorityclasses",
    "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY",
    `high 10 false ${SECONDS} PreemptLowerPriority`,
  ],
];

function lineOf(words: string): RegExp {
  return new RegExp(`^${words.split(" ").join(" +")} *$`, "m");
}

test("S1-TABLE-07: kubectl get shows what people know", { timeout: 60_000 }, async (t) => {
  await using server = await startServer(undefined);
  await using kubectl = await Kubectl.open(server);
  await kubectl.ok(["apply", "-f", SHOP]);
  await kubectl.ok(["create", "-f", "-"], JSON.stringify(POD));
  const cluster = { apiVersion: "v1", kind: "List", items: CLUSTER_OBJECTS };
  await kubectl.ok(["create", "-f", "-"], JSON.stringify(cluster));

  for (const [args, header, row] of TABLES) {
    await t.test(`S1-TABLE-07: get ${args}`, async () => {
      const shown = await kubectl.ok(["get", ...args.split(" ")]);
      assert.match(shown, lineOf(header));
      assert.match(shown, lineOf(row));
    });
  }

  await t.test("S1-TABLE-05: get -w shows the columns once", async () => {
    await using watch = kubectl.start(["get", "pods", "-w"]);
    await watch.waitFor(/^front +0\/1 +Pending/m);
    await kubectl.ok(["create", "-f", "-"], JSON.stringify({ ...POD, metadata: { name: "back" } }));
    await watch.waitFor(/^back +0\/1 +Pending/m);
    assert.equal(watch.output.match(/^NAME/gm)?.length, 1);
  });
});
