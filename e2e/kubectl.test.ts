/**
 * A day's work with the real kubectl, from an empty server to an empty server: on the embedded store
 * and on an etcd with two replicas, where every change is made on one and looked at on the other; and in a control plane
 * below the root, by a kubeconfig of its own.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { openControlPlane } from "./harness/control-plane.js";
import { Kubectl } from "./harness/kubectl.js";
import { startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS, type StoreName } from "./harness/stores.js";

const SHOP = fileURLToPath(new URL("../../e2e/fixtures/shop", import.meta.url));

/** What the folder holds, as kubectl names it. */
const SHOP_OBJECTS = [
  "configmap/settings",
  "cronjob.batch/nightly-report",
  "deployment.apps/web",
  "ingress.networking.k8s.io/web",
  "role.rbac.authorization.k8s.io/read-settings",
  "rolebinding.rbac.authorization.k8s.io/web-reads-settings",
  "secret/payment",
  "service/web",
  "serviceaccount/web",
];

interface Session {
  /** Where changes are made. */
  readonly one: Kubectl;
  /** Where they are looked at: another replica, where there is one. */
  readonly other: Kubectl;
  /** Of what kubectl asks for by whole paths, as it does not put the server's before them; absent = none. */
  readonly base?: string;
}

for (const storeName of STORE_NAMES_OF_SLOW_TESTS) {
  describe(`kubectl (${storeName})`, () => {
    test("S1-GEN-01, S1-GEN-24, S1-GEN-26: a day's work", async (t) => {
      await withServers(storeName, async (session) => {
        for (const [what, step] of STEPS) await t.test(what, () => step(session));
      });
    });
  });
}

test("a day's work in a control plane, by a kubeconfig of its own", async (t) => {
  await using server = await startServer({ flags: ["--enable-control-planes"] });
  await using place = await openControlPlane(server, "shop");
  await using one = await Kubectl.open(place);
  for (const [what, step] of STEPS)
    await t.test(what, () => step({ one, other: one, base: "/clusters/shop" }));
});

/** In order: each works on what the ones before it have left. */
const STEPS: readonly (readonly [string, (session: Session) => Promise<void>])[] = [
  ["version and health", lookAtServer],
  ["S1-GEN-24: discovery", lookAtDiscovery],
  ["S1-GEN-26: explain", explain],
  ["create namespace, apply -f", applyShop],
  ["S1-TABLE-02: get", getShop],
  ["get -o yaml, -o json, -o name", getAsText],
  ["describe", describeShop],
  ["S1-WATCH-03..05: get -w while another creates and deletes", watchOthers],
  ["--dry-run=client changes nothing", dryRun],
  ["create -f and replace -f", createAndReplace],
  ["errors are readable", readErrors],
  ["delete -f", deleteShop],
  ["S1-GEN-19: delete namespace", deleteNamespace],
];

async function withServers(
  storeName: StoreName,
  run: (session: Session) => Promise<void>,
): Promise<void> {
  await using store = await openStore(storeName);
  await using first = await startServer(store.etcd);
  await using second = storeName === "etcd" ? await startServer(store.etcd) : undefined;
  await using one = await Kubectl.open(first);
  await using other = await Kubectl.open(second ?? first);
  await run({ one, other });
  await second?.stop();
  await first.stop();
}

async function lookAtServer({ one, base = "" }: Session): Promise<void> {
  assert.match(await one.ok(["version"]), /^Server Version: v1\.\d+\.\d+/m);
  const readiness = await one.ok(["get", "--raw", `${base}/readyz?verbose`]);
  assert.match(readiness, /^\[\+\]ping ok$/m);
  assert.match(readiness, /^healthz check passed$/m);
  const namespaces = await one.ok(["get", "namespaces", "-o", "name"]);
  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    assert.match(namespaces, new RegExp(`^namespace/${name}$`, "m"));
  }
}

async function lookAtDiscovery({ one }: Session): Promise<void> {
  const resources = await one.ok(["api-resources", "-o", "wide"]);
  assert.match(resources, /^configmaps +cm +v1 +true +ConfigMap +create,delete,deletecollection/m);
  assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment /m);
  assert.match(resources, /^clusterroles +rbac\.authorization\.k8s\.io\/v1 +false +ClusterRole /m);
  const versions = (await one.ok(["api-versions"])).trim().split("\n");
  for (const version of ["v1", "apps/v1", "batch/v1", "networking.k8s.io/v1"]) {
    assert.ok(versions.includes(version), `${version} is missing in ${versions}`);
  }
  assert.deepEqual(
    versions.filter((version) => /alpha|beta/.test(version)),
    [],
    "beta and alpha versions are off",
  );
}

async function explain({ one }: Session): Promise<void> {
  const strategy = await one.ok(["explain", "deployment.spec.strategy"]);
  assert.match(strategy, /^KIND: +Deployment$/m);
  assert.match(strategy, /^FIELD: strategy <DeploymentStrategy>$/m);
  assert.match(strategy, /^ +rollingUpdate\s+<RollingUpdateDeployment>$/m);
  assert.match(await one.ok(["explain", "pod.status.message"]), /Why the pod is in this state/);
  const pod = await one.ok(["explain", "pods", "--recursive"]);
  assert.match(pod, /^ +containers\s+<\[\]Container> -required-$/m);
  assert.match(await one.fails(["explain", "deployment.spec.nothing"]), /does not exist/);
}

async function applyShop({ one, other }: Session): Promise<void> {
  assert.equal(await one.ok(["create", "namespace", "shop"]), "namespace/shop created\n");
  const created = await one.ok(["apply", "-n", "shop", "-f", SHOP]);
  assert.deepEqual(
    lines(created),
    SHOP_OBJECTS.map((name) => `${name} created`),
  );
  // From the other replica, at once: a consistent read does not lag.
  const again = await other.ok(["apply", "-n", "shop", "-f", SHOP]);
  assert.deepEqual(
    lines(again),
    SHOP_OBJECTS.map((name) => `${name} unchanged`),
  );
}

async function getShop({ other }: Session): Promise<void> {
  const all = await other.ok(["get", "all", "-A"]);
  for (const name of ["deployment.apps/web", "service/web", "cronjob.batch/nightly-report"]) {
    assert.match(all, new RegExp(`^shop +${name.replace(".", "\\.")} `, "m"));
  }
  const maps = await other.ok(["get", "configmaps", "-n", "shop", "-l", "app=web"]);
  assert.match(maps, /^NAME +\S/);
  assert.match(maps, /^settings +\S/m);
  const none = await other.run(["get", "secrets", "-n", "shop", "-l", "app=web"]);
  assert.match(none.stderr, /^No resources found in shop namespace\.$/m);
  const field = ["--field-selector", "metadata.name!=settings"];
  const others = await other.ok(["get", "configmaps", "-n", "shop", "-o", "name", ...field]);
  assert.doesNotMatch(others, /settings/);
}

async function getAsText({ other }: Session): Promise<void> {
  const yaml = await other.ok(["get", "deployment", "web", "-n", "shop", "-o", "yaml"]);
  const deployment = parse(yaml);
  assert.equal(deployment.kind, "Deployment");
  // Defaults that the facts of the type know.
  assert.equal(deployment.spec.strategy.type, "RollingUpdate");
  assert.equal(deployment.spec.template.spec.restartPolicy, "Always");
  assert.equal(deployment.metadata.generation, 1);
  const list = JSON.parse(await other.ok(["get", "secrets", "-n", "shop", "-o", "json"]));
  assert.equal(list.items[0].kind, "Secret");
  const names = await other.ok(["get", "-n", "shop", "-f", SHOP, "-o", "name"]);
  assert.deepEqual(lines(names), SHOP_OBJECTS);
}

async function describeShop({ other }: Session): Promise<void> {
  const texts = await Promise.all(
    SHOP_OBJECTS.map((name) => other.ok(["describe", "-n", "shop", name])),
  );
  for (const [index, text] of texts.entries()) {
    const name = String(SHOP_OBJECTS[index]?.split("/")[1]);
    assert.match(text, new RegExp(`^Name: +${name}$`, "m"));
  }
  assert.match(await other.ok(["describe", "namespace", "shop"]), /^Status: +Active$/m);
}

async function watchOthers({ one, other }: Session): Promise<void> {
  await using table = other.start(["get", "configmaps", "-n", "shop", "-w"]);
  const withEvents = ["get", "cm", "-n", "shop", "-w", "--output-watch-events"];
  await using events = other.start(withEvents);
  await table.waitFor(/^settings /m);
  await events.waitFor(/^ADDED +settings /m);
  await one.ok(["create", "configmap", "offers", "-n", "shop", "--from-literal=summer=10%"]);
  await table.waitFor(/^offers /m);
  await events.waitFor(/^ADDED +offers /m);
  await one.ok(["delete", "configmap", "offers", "-n", "shop"]);
  await events.waitFor(/^DELETED +offers /m);
}

async function dryRun({ one }: Session): Promise<void> {
  const args = ["deployment", "trial", "-n", "shop", "--image=shop.example/trial"];
  const yaml = await one.ok(["create", ...args, "--dry-run=client", "-o", "yaml"]);
  assert.equal(parse(yaml).spec.template.spec.containers[0].image, "shop.example/trial");
  const said = await one.ok(["create", "-n", "shop", "-f", "-", "--dry-run=client"], yaml);
  assert.match(said, /^deployment\.apps\/trial created \(dry run\)$/m);
  assert.match(await one.fails(["get", "deployment", "trial", "-n", "shop"]), /NotFound/);
}

async function createAndReplace({ one, other }: Session): Promise<void> {
  const map = (value: string) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "prices", namespace: "shop" },
      data: { apple: value },
    });
  assert.equal(await one.ok(["create", "-f", "-"], map("1")), "configmap/prices created\n");
  assert.match(
    await one.fails(["create", "-f", "-"], map("1")),
    /AlreadyExists.*"prices" already exists/,
  );
  assert.equal(await one.ok(["replace", "-f", "-"], map("2")), "configmap/prices replaced\n");
  const args = ["get", "configmap", "prices", "-n", "shop", "-o", "jsonpath={.data.apple}"];
  assert.equal(await other.ok(args), "2");
}

async function readErrors({ one, base = "" }: Session): Promise<void> {
  const cases: readonly (readonly [string[], RegExp, string?])[] = [
    [["get", "nosuchtype"], /the server doesn't have a resource type "nosuchtype"/],
    [["get", "pod", "missing"], /^Error from server \(NotFound\): pods "missing" not found$/m],
    [["get", "--raw", `${base}/nothing`], /^Error from server \(NotFound\):/m],
    [["create", "configmap", "x", "-n", "nowhere"], /namespaces "nowhere" not found/],
    [["create", "configmap", "A_b"], /ConfigMap "A_b" is invalid: metadata\.name: Invalid value/],
    [
      ["get", "pods", "--field-selector", "spec.nothing=1"],
      /\(BadRequest\).*field label not supported/,
    ],
    [
      ["apply", "-f", "-"],
      /unknown field "spec\.replica"/,
      JSON.stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "typo" },
        spec: {
          replica: 2,
          selector: { matchLabels: { app: "typo" } },
          template: {
            metadata: { labels: { app: "typo" } },
            spec: { containers: [{ name: "main", image: "shop.example/typo" }] },
          },
        },
      }),
    ],
    [
      ["create", "-f", "-"],
      /The Deployment "empty" is invalid/,
      JSON.stringify({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "empty" },
        spec: { selector: {}, template: {} },
      }),
    ],
  ];
  const said = await Promise.all(cases.map(([args, , input]) => one.fails(args, input)));
  for (const [index, [args, pattern]] of cases.entries()) {
    assert.match(String(said[index]), pattern, args.join(" "));
  }
}

async function deleteShop({ one, other }: Session): Promise<void> {
  const deleted = await one.ok(["delete", "-n", "shop", "-f", SHOP]);
  assert.equal(
    lines(deleted).filter((line) => line.includes(" deleted")).length,
    SHOP_OBJECTS.length,
  );
  const left = await other.ok([
    "get",
    "-n",
    "shop",
    "-f",
    SHOP,
    "-o",
    "name",
    "--ignore-not-found",
  ]);
  assert.equal(left, "");
}

async function deleteNamespace({ one, other }: Session): Promise<void> {
  await other.ok(["create", "secret", "generic", "forgotten", "-n", "shop"]);
  // Waits until it is gone, with all that is in it.
  assert.match(await one.ok(["delete", "namespace", "shop"]), /^namespace "shop" deleted/);
  assert.match(await other.fails(["get", "namespace", "shop"]), /\(NotFound\)/);
  assert.match(await other.fails(["get", "secret", "forgotten", "-n", "shop"]), /\(NotFound\)/);
}

/** The lines that are not blank, sorted. */
function lines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .sort();
}
