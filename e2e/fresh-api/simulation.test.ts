/** A simulated cluster, as kubectl, Helm and controllers see it. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Explanation } from "../../server/recorder/record-types.js";
import type { Keelson } from "../../server/start-keelson.js";
import { eventually } from "../harness/eventually.js";
import { type ApiObject, HttpsClient } from "../harness/https-client.js";
import { Kubectl, PATIENTLY } from "../harness/kubectl.js";
import { startKeelson } from "../harness/start-api.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { missingHelm, runHelm } from "../helm/chart.js";
import { shareApi } from "./running-api.js";

const RULES = [
  { name: "slow-*", readyAfter: "1h" },
  { labels: { app: "flaky" }, fails: "crash", times: 2, exitCode: 3 },
] as const;

const theApi = shareApi({ record: true, simulate: { nodes: 2, seed: 7, rules: RULES } });

const NAMESPACE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default";
const BATCH = "/apis/batch/v1/namespaces/default";

function container(image = "app:1") {
  return { name: "app", image, ports: [{ name: "http", containerPort: 8080 }] };
}

function workload(name: string, more: object = {}, annotations: Record<string, string> = {}) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: { containers: [container()] } },
      ...more,
    },
  };
}

async function statusAt(admin: HttpsClient, path: string): Promise<Record<string, unknown>> {
  return ((await admin.get(path)).expect(200).object.status ?? {}) as Record<string, unknown>;
}

function conditionOf(status: Record<string, unknown>, wanted: string) {
  const conditions = (status.conditions ?? []) as {
    type: string;
    status: string;
    reason: string;
  }[];
  const found = conditions.find(({ type }) => type === wanted);
  return found && [found.status, found.reason];
}

async function podsOf(admin: HttpsClient, app: string): Promise<ApiObject[]> {
  return (await admin.get(`${NAMESPACE}/pods?labelSelector=app%3D${app}`)).expect(200).items;
}

test("People 2: kubectl's rollouts, waits and logs end on a simulated cluster, which says what it is", async () => {
  const { api, admin } = theApi();
  const nodes = (await admin.get("/api/v1/nodes")).items;
  assert.deepEqual(
    nodes.map(({ metadata }) => [
      metadata.name,
      metadata.labels?.["simulation.keelson.dev/simulated"],
    ]),
    [
      ["simulated-1", "true"],
      ["simulated-2", "true"],
    ],
  );
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  assert.equal((await admin.get(leases)).items.length, 2);
  await using kubectl = await Kubectl.open({ kubeconfig: api.kubeconfigPath });
  await kubectl.ok(["create", "deployment", "web", "--image=app:1", "--replicas=3", "--port=80"]);
  await kubectl.ok(["rollout", "status", "deployment/web", PATIENTLY]);
  await kubectl.ok(["expose", "deployment", "web", "--type=LoadBalancer"]);
  await kubectl.ok([
    "wait",
    "--for=jsonpath={.status.loadBalancer.ingress}",
    "service/web",
    PATIENTLY,
  ]);
  assert.match(await kubectl.ok(["logs", "deployment/web"]), /^simulated: .* with image app:1$/m);
  await kubectl.ok(["set", "image", "deployment/web", "app=app:2"]);
  await kubectl.ok(["rollout", "status", "deployment/web", PATIENTLY]);
  await kubectl.ok(["rollout", "undo", "deployment/web"]);
  await kubectl.ok(["rollout", "status", "deployment/web", PATIENTLY]);
  await kubectl.ok(["create", "job", "once", "--image=app:1"]);
  await kubectl.ok(["wait", "--for=condition=complete", "job/once", PATIENTLY]);
  assert.match(await kubectl.fails(["exec", "deployment/web", "--", "ls"]), /node is simulated/);
  await api.settled();
  const pods = await podsOf(admin, "web");
  const slices = await admin.get(
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb",
  );
  const { endpoints } = slices.items[0] as unknown as {
    endpoints: { addresses: string[]; conditions: object }[];
  };
  assert.deepEqual(
    endpoints.map(({ addresses }) => addresses[0]).sort(),
    pods.map(({ status }) => (status as { podIP: string }).podIP).sort(),
  );
  assert.deepEqual(endpoints[0]?.conditions, { ready: true, serving: true, terminating: false });
});

test("People 2: sets with numbers, sets on every node and scheduled jobs are complete, and go with all that is theirs", async () => {
  const { api, admin } = theApi();
  const standard = { metadata: { name: "standard" }, provisioner: "simulated" };
  (await admin.post("/apis/storage.k8s.io/v1/storageclasses", standard)).expect(201);
  const claim = {
    metadata: { name: "data" },
    spec: {
      ...{ accessModes: ["ReadWriteOnce"], storageClassName: "standard" },
      resources: { requests: { storage: "1Gi" } },
    },
  };
  const set = workload("db", { serviceName: "db", replicas: 3, volumeClaimTemplates: [claim] });
  (await admin.post(`${APPS}/statefulsets`, set)).expect(201);
  (await admin.post(`${APPS}/daemonsets`, workload("agent"))).expect(201);
  const jobTemplate = {
    spec: { template: { spec: { restartPolicy: "Never", containers: [container()] } } },
  };
  const cron = { metadata: { name: "tick" }, spec: { schedule: "@every 1s", jobTemplate } };
  (await admin.post(`${BATCH}/cronjobs`, cron)).expect(201);
  await eventually("the schedule had a success", async () => {
    const { lastSuccessfulTime } = await statusAt(admin, `${BATCH}/cronjobs/tick`);
    return lastSuccessfulTime !== undefined;
  });
  (await admin.delete(`${BATCH}/cronjobs/tick`)).expect(200);
  await api.settled();
  const { readyReplicas, currentRevision, updateRevision } = await statusAt(
    admin,
    `${APPS}/statefulsets/db`,
  );
  assert.deepEqual([readyReplicas, currentRevision], [3, updateRevision]);
  const { numberAvailable } = await statusAt(admin, `${APPS}/daemonsets/agent`);
  assert.equal(numberAvailable, 2);
  const claims = (await admin.get(`${NAMESPACE}/persistentvolumeclaims`)).items;
  assert.deepEqual(
    claims.map(({ metadata, status }) => [metadata.name, (status as { phase: string }).phase]),
    ["data-db-0", "data-db-1", "data-db-2"].map((name) => [name, "Bound"]),
  );

  for (const path of [`${APPS}/statefulsets/db`, `${APPS}/daemonsets/agent`])
    await admin.delete(path);
  await admin.delete(`${NAMESPACE}/persistentvolumeclaims`);
  await api.settled();
  assert.deepEqual([await podsOf(admin, "db"), await podsOf(admin, "agent")], [[], []]);
  for (const gone of [`${NAMESPACE}/persistentvolumeclaims`, "/api/v1/persistentvolumes"]) {
    assert.deepEqual((await admin.get(gone)).items, []);
  }
});

test("People 2: what is to fail fails, by annotations and by rules: images, crashes, jobs, deadlines", async () => {
  const { api, admin } = theApi();
  const pull = { "simulation.keelson.dev/fails": "image-pull" };
  const crash = {
    "simulation.keelson.dev/fails": "crash",
    "simulation.keelson.dev/runs-for": "100ms",
  };
  (await admin.post(`${APPS}/deployments`, workload("no-image", {}, pull))).expect(201);
  (await admin.post(`${APPS}/deployments`, workload("loops", {}, crash))).expect(201);
  const late = workload("slow", { progressDeadlineSeconds: 1, minReadySeconds: 0 });
  (await admin.post(`${APPS}/deployments`, late)).expect(201);
  const template = {
    metadata: { labels: { app: "flaky" } },
    spec: { restartPolicy: "Never", containers: [container()] },
  };
  for (const [name, backoffLimit] of [
    ["patient", 2],
    ["strict", 1],
  ] as const) {
    (
      await admin.post(`${BATCH}/jobs`, { metadata: { name }, spec: { backoffLimit, template } })
    ).expect(201);
  }
  const done = await eventually("one job is complete, and one failed", async () => {
    const [patient, strict] = await Promise.all(
      ["patient", "strict"].map((name) => statusAt(admin, `${BATCH}/jobs/${name}`)),
    );
    const is =
      patient && conditionOf(patient, "Complete") && strict && conditionOf(strict, "Failed");
    return is && { patient, strict };
  });
  assert.deepEqual([done.patient.failed, done.patient.succeeded], [2, 1]);
  assert.deepEqual([done.strict?.failed, done.strict?.succeeded ?? 0], [2, 0]);
  assert.deepEqual(done.strict && conditionOf(done.strict, "Failed"), [
    "True",
    "BackoffLimitExceeded",
  ]);

  const waitingOf = async (app: string) => {
    const [pod] = await podsOf(admin, app);
    const statuses = (
      pod?.status as { containerStatuses?: { state: { waiting?: { reason: string } } }[] }
    )?.containerStatuses;
    return statuses?.[0]?.state.waiting?.reason;
  };
  await eventually("the image is not found", async () =>
    /ImagePull/.test((await waitingOf("no-image")) ?? ""),
  );
  await eventually(
    "the loop is seen",
    async () => (await waitingOf("loops")) === "CrashLoopBackOff",
  );
  await eventually("the rollout has missed its deadline", async () => {
    const condition = conditionOf(await statusAt(admin, `${APPS}/deployments/slow`), "Progressing");
    return condition?.[1] === "ProgressDeadlineExceeded";
  });
  for (const name of ["no-image", "loops", "slow"])
    await admin.delete(`${APPS}/deployments/${name}`);
  await api.settled();
});

test("#46 a rollout is explained from the Deployment that somebody changed to its last pod", async () => {
  const { api, admin } = theApi();
  const path = `${APPS}/deployments/told`;
  (await admin.post(`${APPS}/deployments`, workload("told", { replicas: 3 }))).expect(201);
  await api.settled();
  const next = workload("told", { replicas: 3 });
  next.spec.template.spec.containers = [container("app:2")];
  const changed = (await admin.put(path, next)).expect(200);
  await api.settled();
  const pods = await podsOf(admin, "told");
  assert.equal(pods.length, 3);
  for (const { metadata } of pods) {
    const query = `resource=pods&namespace=default&name=${metadata.name}`;
    const why = (await admin.get(`/debug/record/why?${query}`)).expect(200).object;
    const { steps, writes, end } = why as unknown as Explanation;
    const chain = steps.map(({ write }) => writes.find(({ id }) => id === write));
    // The loops of one process see a Deployment and its ReplicaSet within a millisecond: either may be the likelier cause.
    const named = steps.flatMap(({ exact, candidates }) => [...exact, ...candidates]);
    const kinds = new Set(named.map(({ to }) => writes.find(({ id }) => id === to)?.resource));
    for (const kind of ["pods", "replicasets", "deployments"]) assert.ok(kinds.has(kind), kind);
    const first = chain.at(-1);
    assert.deepEqual(
      [first?.name, first?.revision, end],
      ["told", changed.object.metadata.resourceVersion, "outer"],
    );
  }
  await admin.delete(path);
  await api.settled();
});

test("People 2: pods of a node that goes are not ready, and are made anew on another one", async () => {
  const { api, admin } = theApi();
  const annotate = (gone: string | null) =>
    admin.patch("/api/v1/nodes/simulated-1", {
      metadata: { annotations: { "simulation.keelson.dev/gone": gone } },
    });
  const tolerations = ["not-ready", "unreachable"].map((key) => ({
    ...{
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 0,
    },
  }));
  const moving = workload("moving", { replicas: 4 });
  Object.assign(moving.spec.template.spec, { tolerations });
  (await admin.post(`${APPS}/deployments`, moving)).expect(201);
  const places = async () => {
    const pods = (await podsOf(admin, "moving")).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    return pods.map(({ spec }) => (spec as { nodeName?: string }).nodeName).sort();
  };
  await api.settled();
  assert.deepEqual(new Set(await places()), new Set(["simulated-1", "simulated-2"]));
  (await annotate("true")).expect(200);
  await eventually("all are on the other node", async () => {
    const now = await places();
    return now.length === 4 && now.every((node) => node === "simulated-2");
  });
  const { conditions } = await statusAt(admin, "/api/v1/nodes/simulated-1");
  assert.deepEqual(conditionOf({ conditions }, "Ready"), ["Unknown", "NodeStatusUnknown"]);
  (await annotate(null)).expect(200);
  await api.settled();
  assert.equal((await podsOf(admin, "moving")).length, 4);
  await admin.delete(`${APPS}/deployments/moving`);
});

for (const helm of ["helm-3", "helm-4"] as const) {
  const skip = await missingHelm(helm);
  test(`People 2: Helm's --wait and hooks end (${helm})`, { skip }, async () => {
    const { api } = theApi();
    await using folder = await makeTempDir("simulated-chart");
    await mkdir(join(folder.path, "templates"));
    await folder.write("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n");
    const job = {
      ...{ apiVersion: "batch/v1", kind: "Job" },
      metadata: {
        name: `${helm}-hook`,
        annotations: { "helm.sh/hook": "pre-install,post-install" },
      },
      spec: { template: { spec: { restartPolicy: "Never", containers: [container()] } } },
    };
    const app = { apiVersion: "apps/v1", kind: "Deployment", ...workload(`${helm}-app`) };
    await writeFile(join(folder.path, "templates", "hook.yaml"), JSON.stringify(job));
    await writeFile(join(folder.path, "templates", "app.yaml"), JSON.stringify(app));
    const places = ["CACHE", "CONFIG", "DATA"].map((what) => [`HELM_${what}_HOME`, folder.path]);
    const env = { KUBECONFIG: api.kubeconfigPath, ...Object.fromEntries(places) };
    const { code, stdout, stderr } = await runHelm(
      helm,
      ["install", helm, folder.path, "--wait", PATIENTLY],
      env,
    );
    assert.equal(code, 0, stdout + stderr);
    const gone = await runHelm(helm, ["uninstall", helm, "--wait", PATIENTLY], env);
    assert.equal(gone.code, 0, gone.stdout + gone.stderr);
  });
}

test("People 2: a budget lets as many pods be evicted as it can spare, and pods that want to be apart are", async () => {
  const { admin } = theApi();
  const labels = { app: "apart" };
  const antiAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { labelSelector: { matchLabels: labels }, topologyKey: "kubernetes.io/hostname" },
    ],
  };
  const spec = { containers: [container()], affinity: { podAntiAffinity: antiAffinity } };
  // It is still there when the next one is asked for.
  const annotations = { "simulation.keelson.dev/stop-after": "30s" };
  const template = { metadata: { labels, annotations }, spec };
  const apart = workload("apart", { replicas: 3, template });
  (await admin.post(`${APPS}/deployments`, apart)).expect(201);
  const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  const budget = { selector: { matchLabels: labels }, maxUnavailable: "50%" };
  (await admin.post(budgets, { metadata: { name: "apart" }, spec: budget })).expect(201);
  await eventually("two of three run, and the third cannot be placed", async () => {
    const pods = await podsOf(admin, "apart");
    const places = pods.map(({ spec }) => (spec as { nodeName?: string }).nodeName ?? "");
    const waits = pods.filter(({ status }) =>
      JSON.stringify(status ?? {}).includes("didn't match pod anti-affinity rules"),
    );
    return (places.sort().join() === ",simulated-1,simulated-2" && waits.length === 1) || undefined;
  });
  // Of three expected ones half, rounded up, may be away, and one is.
  await eventually("the budget has counted them", async () => {
    const status = await statusAt(admin, `${budgets}/apart`);
    const { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed } = status;
    const counts = [expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed];
    return counts.join() === "3,1,2,1" || undefined;
  });
  const running = (await podsOf(admin, "apart")).filter(
    ({ spec }) => (spec as { nodeName?: string }).nodeName !== undefined,
  );
  const evict = ({ metadata: { name = "" } }: ApiObject) =>
    admin.post(`${NAMESPACE}/pods/${name}/eviction`, { metadata: { name } });
  const [first, second] = running;
  assert.ok(first && second);
  (await evict(first)).expect(201);
  (await evict(second)).expect(429);
  await admin.delete(`${budgets}/apart`);
  (await evict(second)).expect(201);
});

test("People 2: with one seed two simulations are alike", async () => {
  const { api, admin } = theApi();
  await using other: Keelson = await startKeelson({
    simulate: { nodes: 2, seed: 7, rules: RULES },
  });
  const second = new HttpsClient(other.url, other);
  const [here, there] = await Promise.all(
    (
      [
        [api, admin],
        [other, second],
      ] as const
    ).map(async ([one, client]) => {
      (await client.post(`${APPS}/deployments`, workload("same", { replicas: 3 }))).expect(201);
      await one.settled();
      return (await podsOf(client, "same")).map(({ metadata }) => metadata.name);
    }),
  );
  second.close();
  assert.equal(here?.length, 3);
  assert.deepEqual(here, there);
});
