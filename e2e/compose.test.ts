/**
 * The compose file as it is run: three members, Redis, three replicas, HAProxy and Prometheus, each started by its own
 * command. Grafana alone is not to be had here.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { readCompose } from "./harness/compose.js";
import { eventually } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { findTool } from "./tools/find-tool.js";

const TOOLS = ["etcd", "redis-server", "haproxy", "prometheus", "kubectl"] as const;
const found = await Promise.all(TOOLS.map((name) => findTool(name)));
const missing = TOOLS.filter((_, index) => found[index] === undefined);
const NUMBERS = [0, 1, 2] as const;

test("the compose file's services serve together, and a replica that is stopped is left by HAProxy", {
  skip: missing.length > 0 && `${missing.join()} is not to be had`,
}, async () => {
  await using composed = await readCompose();
  await Promise.all([...NUMBERS.map((n) => composed.start(`etcd-${n}`)), composed.start("redis")]);
  const replicas = await Promise.all(NUMBERS.map((n) => composed.start(`keelson-${n}`)));
  const [first, second] = replicas;
  const haproxy = await composed.start("haproxy");
  const prometheus = await composed.start("prometheus");
  const kubeconfig = first?.path("/var/lib/keelson/admin.kubeconfig") ?? "";
  await eventually("the first replica writes its kubeconfig", () => existsSync(kubeconfig));
  await using kubectl = await Kubectl.open({ kubeconfig });
  // As the file's own head says, where "localhost" is the balancer's published port.
  const through = (address: string) => [
    ...[`--server=https://${address}:6443`, "--tls-server-name=localhost"],
  ];
  await eventually(
    "HAProxy finds a replica that is ready",
    async () =>
      (await kubectl.run(["get", "--raw=/readyz", ...through(haproxy.address)])).code === 0,
  );
  await kubectl.ok([
    "create",
    "configmap",
    "one",
    "--from-literal=a=1",
    ...through(haproxy.address),
  ]);
  for (const { address } of replicas) {
    const read = ["get", "configmap", "one", "-o", "jsonpath={.data.a}"];
    assert.equal(await kubectl.ok([...read, ...through(address)]), "1");
  }

  // Prometheus answers before it has read which targets there are.
  await eventually("Prometheus scrapes all", async () =>
    isDeepStrictEqual(await targetsOf(prometheus.address), TARGETS_UP),
  );

  second?.child.signal("SIGTERM");
  await eventually("the replica ends in good order", () => second?.child.hasEnded);
  assert.equal(second?.child.exitCode, 0, second?.child.output);
  for (let times = 0; times < replicas.length; times++) {
    await kubectl.ok(["get", "configmap", "one", ...through(haproxy.address)]);
  }
});

/** Three members of etcd and three replicas. */
const TARGETS_UP = Array<string>(6).fill("up");

async function targetsOf(address: string): Promise<string[]> {
  const answer = await fetch(`http://${address}:9090/api/v1/targets`);
  const { data } = (await answer.json()) as { data: { activeTargets: { health: string }[] } };
  return data.activeTargets.map(({ health }) => health);
}
