/** What people see: the columns of `kubectl get`, narrow, wide and while they watch. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { furnished } from "./harness/furnished-namespace.js";
import { Kubectl, PATIENTLY } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";

const SHOP = fileURLToPath(new URL("../../e2e/fixtures/shop", import.meta.url));

const KINDS = fileURLToPath(new URL("../../e2e/fixtures/kinds.yaml", import.meta.url));

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
  ["serviceaccounts", "NAME AGE", `web ${SECONDS}`],
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
  ["replicasets", "NAME DESIRED CURRENT READY AGE", `rs 2 0 0 ${SECONDS}`],
  [
    "replicasets -o wide",
    "NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR",
    `rs 2 0 0 ${SECONDS} c shop.example/c app=rs`,
  ],
  ["replicationcontrollers", "NAME DESIRED CURRENT READY AGE", `rc 1 0 0 ${SECONDS}`],
  ["statefulsets", "NAME READY AGE", `sts 0/1 ${SECONDS}`],
  [
    "statefulsets -o wide",
    "NAME READY AGE CONTAINERS IMAGES",
    `sts 0/1 ${SECONDS} c shop.example/c`,
  ],
  [
    "daemonsets",
    "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE",
    `ds 0 0 0 0 0 disk=ssd ${SECONDS}`,
  ],
  ["jobs", "NAME STATUS COMPLETIONS DURATION AGE", `job Running 0/3 ${SECONDS}`],
  [
    "jobs -o wide",
    "NAME STATUS COMPLETIONS DURATION AGE CONTAINERS IMAGES SELECTOR",
    `job Running 0/3 ${SECONDS} c shop.example/c batch.kubernetes.io/controller-uid=\\S+`,
  ],
  [
    "endpointslices",
    "NAME ADDRESSTYPE PORTS ENDPOINTS AGE",
    `slice IPv4 8080 10.1.2.3,10.1.2.4 ${SECONDS}`,
  ],
  ["endpoints", "NAME ENDPOINTS AGE", `ends 10.1.2.3:80 ${SECONDS}`],
  [
    "persistentvolumes",
    "NAME CAPACITY ACCESS MODES RECLAIM POLICY STATUS CLAIM STORAGECLASS VOLUMEATTRIBUTESCLASS REASON AGE",
    `pv 5Gi RWO Retain Pending slow <unset> ${SECONDS}`,
  ],
  [
    "persistentvolumeclaims",
    "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
    `pvc Pending slow <unset> ${SECONDS}`,
  ],
  [
    "persistentvolumeclaims -o wide",
    "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE VOLUMEMODE",
    `pvc Pending slow <unset> ${SECONDS} Filesystem`,
  ],
  ["events", "LAST SEEN TYPE REASON OBJECT MESSAGE", "\\S+ Warning Failed pod/front it broke"],
  [
    "events -o wide",
    "LAST SEEN TYPE REASON OBJECT SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME",
    "\\S+ Warning Failed pod/front kubelet, n1 it broke \\S+ 3 event",
  ],
  ["clusterroles", "NAME CREATED AT", "zz-reader \\d{4}-\\S+Z"],
  ["clusterrolebindings", "NAME ROLE AGE", `zz-readers ClusterRole/zz-reader ${SECONDS}`],
  [
    "clusterrolebindings -o wide",
    "NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS",
    `zz-readers ClusterRole/zz-reader ${SECONDS} ann devs`,
  ],
  [
    "horizontalpodautoscalers",
    "NAME REFERENCE TARGETS MINPODS MAXPODS REPLICAS AGE",
    `hpa Deployment/web cpu: <unknown>/60% 2 9 0 ${SECONDS}`,
  ],
  [
    "poddisruptionbudgets",
    "NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE",
    `pdb 1 N/A 0 ${SECONDS}`,
  ],
  ["leases", "NAME HOLDER AGE", `lease me ${SECONDS}`],
  [
    "certificatesigningrequests",
    "NAME AGE SIGNERNAME REQUESTOR REQUESTEDDURATION CONDITION",
    `csr ${SECONDS} example.com/signer kubernetes-admin 60m Pending`,
  ],
  ["networkpolicies", "NAME POD-SELECTOR AGE", `policy app=web ${SECONDS}`],
  ["ingressclasses", "NAME CONTROLLER PARAMETERS AGE", `edge example.com/edge <none> ${SECONDS}`],
  ["resourcequotas", "NAME REQUEST LIMIT AGE", `quota pods: \\d+/10 ${SECONDS}`],
  ["limitranges", "NAME CREATED AT", "limits \\d{4}-\\S+Z"],
  ["validatingwebhookconfigurations", "NAME WEBHOOKS AGE", `hooks 0 ${SECONDS}`],
  ["mutatingwebhookconfigurations", "NAME WEBHOOKS AGE", `changes 0 ${SECONDS}`],
  [
    "flowschemas",
    "NAME PRIORITYLEVEL MATCHINGPRECEDENCE DISTINGUISHERMETHOD AGE MISSINGPL",
    `flow slow-lane 900 ByUser ${SECONDS} False`,
  ],
  [
    "prioritylevelconfigurations",
    "NAME TYPE NOMINALCONCURRENCYSHARES QUEUES HANDSIZE QUEUELENGTHLIMIT AGE",
    `slow-lane Limited 5 <none> <none> <none> ${SECONDS}`,
  ],
  [
    "csidrivers",
    "NAME ATTACHREQUIRED PODINFOONMOUNT STORAGECAPACITY TOKENREQUESTS REQUIRESREPUBLISH MODES AGE",
    `disks.example true false false <unset> false Persistent ${SECONDS}`,
  ],
  ["podtemplates", "NAME CONTAINERS IMAGES POD LABELS", "template c shop.example/c app=t"],
  ["controllerrevisions", "NAME CONTROLLER REVISION AGE", `revision <none> 4 ${SECONDS}`],
  ["runtimeclasses", "NAME HANDLER AGE", `sandbox runsc ${SECONDS}`],
];

function lineOf(words: string): RegExp {
  return new RegExp(`^${words.split(" ").join(" +")} *$`, "m");
}

test("S1-TABLE-07: kubectl get shows what people know", async (t) => {
  await using server = await startServer(undefined);
  await using kubectl = await Kubectl.open(server);
  await furnished(server.client);
  await kubectl.ok(["apply", "-f", SHOP]);
  await kubectl.ok(["create", "-f", KINDS]);
  await kubectl.ok(["create", "-f", "-"], JSON.stringify(POD));
  const cluster = { apiVersion: "v1", kind: "List", items: CLUSTER_OBJECTS };
  await kubectl.ok(["create", "-f", "-"], JSON.stringify(cluster));

  // A control loop has counted for the first time.
  const hard = ["--for=jsonpath={.status.hard.pods}=10", "resourcequota/quota"];
  await kubectl.ok(["wait", PATIENTLY, ...hard]);

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
