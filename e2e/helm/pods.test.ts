/**
 * Every pod that the chart can render, hooks, Jobs, CronJobs and the one of `helm test` too, line by line: it says what it needs, tolerates what
 * it is told to, and has no more rights than the Pod Security level `restricted` gives.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { missingHelm, parseManifests, type Rendered, type Values } from "./chart.js";
import { renderMany } from "./render-many.js";

const PLACEMENT: Values = {
  tolerations: [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }],
  nodeSelector: { "node.example/pool": "control" },
  priorityClassName: "system-cluster-critical",
  "image.pullSecrets": [{ name: "registry" }],
};

/** All that makes pods, in two renderings. */
const CASES: Readonly<Record<string, Values>> = {
  bundled: {
    ...PLACEMENT,
    "etcd.bundled.enabled": true,
    "redis.bundled.enabled": true,
    "certificates.source": "job",
    "backup.enabled": true,
    "monitoring.podMonitors.enabled": true,
  },
  external: {
    ...PLACEMENT,
    "etcd.endpoints": ["https://etcd-0:2379"],
    "etcd.tls.secretName": "etcd",
    "controllers.separate": false,
    "backup.enabled": true,
    "monitoring.podMonitors.enabled": true,
  },
};

const PODS: Readonly<Record<string, readonly string[]>> = {
  bundled: [
    "CronJob/demo-keelson-backup",
    "CronJob/demo-keelson-renewal",
    "Deployment/demo-keelson",
    "Deployment/demo-keelson-controllers",
    "Deployment/demo-keelson-redis",
    "Job/demo-keelson-certificates",
    "Pod/demo-keelson-test",
    "StatefulSet/demo-keelson-etcd",
  ],
  external: ["CronJob/demo-keelson-backup", "Deployment/demo-keelson", "Pod/demo-keelson-test"],
};

const skip = await missingHelm("helm-4");

test("P13: each pod of the chart asks for CPU and memory, tolerates, is placed and pulled as the values say, without privileges", {
  skip,
}, async () => {
  const texts = await renderMany("helm-4", CASES);
  for (const [name, expected] of Object.entries(PODS)) {
    const objects = parseManifests(texts.get(name) ?? "");
    const pods = new Map(objects.flatMap(podOf));
    assert.deepEqual([...pods.keys()].sort(), expected);
    for (const [pod, spec] of pods) {
      assert.deepEqual(spec.tolerations, PLACEMENT.tolerations, pod);
      assert.deepEqual(spec.nodeSelector, PLACEMENT.nodeSelector, pod);
      assert.equal(spec.priorityClassName, PLACEMENT.priorityClassName, pod);
      assert.deepEqual(spec.imagePullSecrets, PLACEMENT["image.pullSecrets"], pod);
      assert.equal(spec.enableServiceLinks, false, pod);
      assert.equal(spec.securityContext.runAsNonRoot, true, pod);
      assert.deepEqual(spec.securityContext.seccompProfile, { type: "RuntimeDefault" }, pod);
      for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
        const at = `${pod} ${container.name}`;
        const { requests, limits } = container.resources;
        assert.deepEqual(Object.keys(requests).sort(), ["cpu", "memory"], at);
        assert.ok(limits.memory, at);
        assert.deepEqual(container.securityContext.capabilities, { drop: ["ALL"] }, at);
        assert.equal(container.securityContext.allowPrivilegeEscalation, false, at);
        assert.equal(container.securityContext.readOnlyRootFilesystem, true, at);
      }
    }
  }
});

test("P6, P8: there is a PodMonitor for the pods of the bundled etcd and of the loops, at a port that they have, and none for what is outside", {
  skip,
}, async () => {
  const texts = await renderMany("helm-4", CASES);
  const monitored = Object.keys(CASES).map((name) => {
    const objects = parseManifests(texts.get(name) ?? "");
    const monitors = objects.filter(({ kind }) => kind === "PodMonitor");
    return monitors.map(({ spec, metadata }) => {
      const labels = Object.entries<string>(spec.selector.matchLabels);
      const watched = objects.filter(({ spec: { template } = {} }) =>
        labels.every(([key, value]) => template?.metadata?.labels?.[key] === value),
      );
      const [endpoint] = spec.podMetricsEndpoints;
      const ports = watched.map(({ spec: { template } }) => {
        const named = template.spec.containers[0].ports as {
          name: string;
          containerPort: number;
        }[];
        return named.find((port) => port.name === endpoint.port)?.containerPort;
      });
      return [metadata.name, watched.map(({ metadata: { name: of } }) => of), ports];
    });
  });
  assert.deepEqual(monitored, [
    [
      ["demo-keelson-controllers", ["demo-keelson-controllers"], [10_257]],
      ["demo-keelson-etcd", ["demo-keelson-etcd"], [2_381]],
    ],
    [],
  ]);
});

/** "Kind/name" and the pod's spec, of what makes one. */
function podOf({ kind, metadata, spec }: Rendered): [string, Rendered["spec"]][] {
  const pod = kind === "Pod" ? spec : (spec?.jobTemplate?.spec ?? spec)?.template?.spec;
  return pod?.containers === undefined ? [] : [[`${kind}/${metadata.name}`, pod]];
}
