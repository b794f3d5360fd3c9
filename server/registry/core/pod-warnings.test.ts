/** Warnings about pods and templates of pods, by field, and that finding them ends. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { resourceOf } from "../testing/problems.js";

const naming = createNaming("kubernetes");
const NO_PODS = "a null labelSelector results in matching no pod";

function warningsOf(
  name: string,
  content: object,
  current?: object,
  metadata: object = {},
): readonly string[] {
  const objectOf = (members: object) => {
    const object = { metadata: { name: "x", generation: 1, ...metadata }, ...members };
    return object as unknown as ApiObject;
  };
  const { strategy } = resourceOf(name);
  const before = current && objectOf(current);
  return strategy.warnings?.(objectOf(content), before, { naming }) ?? [];
}

const one = (container: object) => ({ containers: [{ name: "a", ...container }] });
const term = (key: string, value: string) => ({
  matchExpressions: [{ key, operator: "In", values: [value] }],
});

/** Specifications, and what a new pod with them is told; without what is told, nothing. */
const SPECS: readonly (readonly [spec: object, ...warnings: string[]])[] = [
  [
    {
      containers: [{ name: "a", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 1 }] }],
    },
  ],
  [
    { nodeSelector: { "beta.kubernetes.io/arch": "a", "kubernetes.io/os": "b" } },
    'spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
  ],
  [
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [term("failure-domain.beta.kubernetes.io/zone", "!")],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: term("node-role.kubernetes.io/master", "!") },
          ],
        },
      },
    },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead',
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: ! is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    { topologySpreadConstraints: [{ topologyKey: "beta.kubernetes.io/os" }] },
    'spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    `spec.topologySpreadConstraints[0].labelSelector: ${NO_PODS}`,
  ],
  [
    {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "a" }] },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "a" } },
            { weight: 1, podAffinityTerm: { topologyKey: "a", labelSelector: {} } },
          ],
        },
      },
    },
    `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${NO_PODS}`,
    `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: ${NO_PODS}`,
  ],
  [
    {
      volumes: [
        { name: "v", gitRepo: {} },
        { name: "w", storageos: {} },
      ],
    },
    "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
  ],
  [
    {
      volumes: [
        {
          name: "v",
          ephemeral: {
            volumeClaimTemplate: { spec: { resources: { requests: { storage: "1500m" } } } },
          },
        },
      ],
    },
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ],
  [
    {
      volumes: [{ name: "v", configMap: { name: "c", items: [{ path: "a/b/" }, { path: "a" }] } }],
    },
    'volume "v" (ConfigMap "c"): overlapping paths: "a" with "a/b"',
  ],
  [{ volumes: [{ name: "v", secret: { items: [{ path: "a" }, { path: "ab" }] } }] }],
  // A search for the slashes at the end that begins at each of them would not end.
  [
    {
      volumes: [
        {
          name: "v",
          secret: {
            items: [{ path: `a${"/".repeat(500_000)}x` }, { path: "b///" }, { path: "b" }],
          },
        },
      ],
    },
    'volume "v" (Secret ""): overlapping paths: "b" with "b"',
  ],
  [
    {
      volumes: [
        {
          name: "v",
          projected: {
            sources: [
              { secret: { name: "s", items: [{ path: "a" }] } },
              {},
              { serviceAccountToken: { path: "a/b" } },
            ],
          },
        },
      ],
    },
    'volume "v" (Projected) has no sources provided',
    'volume "v" (Projected): overlapping paths: "a/b" (ServiceAccountToken) with "a" (Secret "s")',
  ],
  [
    { hostAliases: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }, { ip: "010.0.0.2" }] },
    'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
    'spec.hostAliases[2].ip: non-standard IP address "010.0.0.2" is invalid: use "10.0.0.2"',
  ],
  [
    { imagePullSecrets: [{ name: "a" }, { name: "a" }, {}] },
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
  ],
  [
    { overhead: { memory: "1500m", cpu: "1500m" } },
    'spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer',
  ],
  [
    one({ resources: { limits: { memory: "100m" }, requests: { "ephemeral-storage": "1m" } } }),
    'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
    'spec.containers[0].resources.requests[ephemeral-storage]: fractional byte value "1m" is invalid, must be an integer',
  ],
  [
    one({
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "$(A)2" },
        { name: "A", value: "$(A)" },
        { name: "A", value: "3" },
        { name: "A", valueFrom: { fieldRef: {} } },
      ],
    }),
    ...[2, 3, 4].map(
      (index) =>
        `spec.containers[0].env[${index}]: hides previous definition of "A", which may be dropped when using apply`,
    ),
  ],
  [
    {
      initContainers: [{ name: "i", ports: [{ containerPort: 80, protocol: "TCP", name: "web" }] }],
      containers: [
        {
          name: "a",
          ports: [
            { containerPort: 80, protocol: "TCP", name: "web" },
            { containerPort: 80, protocol: "TCP", hostPort: 81 },
            { containerPort: 80, protocol: "UDP", hostIP: "10.0.0.1" },
            { containerPort: 90, protocol: "TCP", hostPort: 90 },
            { containerPort: 90, protocol: "TCP", hostPort: 90, hostIP: "10.0.0.1" },
          ],
        },
      ],
    },
    "spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]",
    'spec.containers[0].ports[0]: duplicate port name "web" with spec.initContainers[0].ports[0], services and probes that select ports by name will use spec.initContainers[0].ports[0]',
    "spec.containers[0].ports[1]: overlapping port definition with spec.initContainers[0].ports[0]",
    "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
    "spec.containers[0].ports[2]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:UDP HostIP:10.0.0.1}",
    "spec.containers[0].ports[4]: dangerously ambiguous port definition with spec.containers[0].ports[3]",
  ],
  [
    { terminationGracePeriodSeconds: -1 },
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
  ],
  [
    { dnsConfig: { nameservers: ["::ffff:1.2.3.4", "2001:DB8::1", "2001:db8::1", "10.0.0.1"] } },
    'spec.dnsConfig.nameservers[0]: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"',
    'spec.dnsConfig.nameservers[1]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
  ],
];

for (const [index, [spec, ...warnings]] of SPECS.entries()) {
  test(`R27: a new pod is told its warnings, its changes are not (${index + 1}: ${Object.keys(spec)})`, () => {
    assert.deepEqual(warningsOf("v1/pods", { spec }), warnings);
    assert.deepEqual(warningsOf("v1/pods", { spec }, { spec }), []);
  });
}

test("R27: a pod is told of its annotations that do nothing, and of a name that is no host name", () => {
  const annotations = {
    "scheduler.alpha.kubernetes.io/critical-pod": "",
    "seccomp.security.alpha.kubernetes.io/pod": "a",
    "container.seccomp.security.alpha.kubernetes.io/a": "a",
    "container.seccomp.security.alpha.kubernetes.io/b": "a",
    other: "a",
  };
  const spec = {
    containers: [
      { name: "a" },
      { name: "b", securityContext: { seccompProfile: { type: "RuntimeDefault" } } },
    ],
  };
  const found = warningsOf("v1/pods", { spec }, undefined, { name: "a.b", annotations });
  assert.match(
    found[0] ?? "",
    /^metadata\.name: this is used in the Pod's hostname, which can result /,
  );
  const field = (key: string) => `metadata.annotations[${key}]: non-functional in`;
  assert.deepEqual(found.slice(1), [
    `${field("scheduler.alpha.kubernetes.io/critical-pod")} v1.16+; use the "priorityClassName" field instead`,
    `${field("seccomp.security.alpha.kubernetes.io/pod")} v1.27+; use the "seccompProfile" field instead`,
    `${field("container.seccomp.security.alpha.kubernetes.io/a")} v1.27+; use the "seccompProfile" field instead`,
  ]);
});

const TEMPLATES: readonly (readonly [name: string, at: string])[] = [
  ["v1/podtemplates", "template"],
  ["v1/replicationcontrollers", "spec.template"],
  ["apps/v1/daemonsets", "spec.template"],
  ["apps/v1/deployments", "spec.template"],
  ["apps/v1/replicasets", "spec.template"],
  ["apps/v1/statefulsets", "spec.template"],
  ["batch/v1/cronjobs", "spec.jobTemplate.spec.template"],
  ["batch/v1/jobs", "spec.template"],
];

for (const [name, at] of TEMPLATES) {
  test(`R27: ${name} are told the warnings of their templates with each new generation`, () => {
    const key = "container.apparmor.security.beta.kubernetes.io/a";
    const template = {
      metadata: { annotations: { [key]: "runtime/default" } },
      spec: { ...one({}), imagePullSecrets: [{}] },
    };
    const content = at
      .split(".")
      .reduceRight<object>((inner, member) => ({ [member]: inner }), template);
    const expected = [
      `${at}.spec.imagePullSecrets[0].name: invalid empty name ""`,
      `${at}.metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    ];
    assert.deepEqual(warningsOf(name, content), expected);
    assert.deepEqual(warningsOf(name, content, content), []);
    // The set counts its template by itself.
    const annotations = { "deprecated.daemonset.template.generation": "0" };
    const before = { ...content, metadata: { name: "x", generation: 0, annotations } };
    assert.deepEqual(warningsOf(name, content, before), expected);
  });
}

test("R27: sets are told of claims with fractions of bytes", () => {
  const content = {
    spec: { volumeClaimTemplates: [{ spec: { resources: { limits: { storage: "1m" } } } }] },
  };
  assert.deepEqual(warningsOf("apps/v1/statefulsets", content), [
    'spec.volumeClaimTemplates[0].resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer',
  ]);
});

test("R45: kinds that choose nodes are told of labels that other ones took the place of", () => {
  const key = "beta.kubernetes.io/os";
  const why = 'deprecated since v1.14; use "kubernetes.io/os" instead';
  const terms = { nodeSelectorTerms: [term(key, "a")] };
  const cases = [
    ["v1/persistentvolumes", { spec: { nodeAffinity: { required: terms } } }],
    ["node.k8s.io/v1/runtimeclasses", { scheduling: { nodeSelector: { [key]: "a", other: "b" } } }],
    [
      "storage.k8s.io/v1/storageclasses",
      { allowedTopologies: [{ matchLabelExpressions: [{ key }] }] },
    ],
    ["storage.k8s.io/v1/csistoragecapacities", { nodeTopology: { matchLabels: { [key]: "a" } } }],
  ] as const;
  assert.deepEqual(
    cases.map(([name, content]) => warningsOf(name, content)),
    [
      [`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: ${key} is ${why}`],
      [`scheduling.nodeSelector: ${why}`],
      [`allowedTopologies[0].matchLabelExpressions[0].key: ${why}`],
      [`nodeTopology.matchLabels.${key}: ${why}`],
    ],
  );
});

test("H4: a hundred warnings are enough, however many there would be", () => {
  const ports = Array.from({ length: 20_000 }, () => ({ containerPort: 80, protocol: "TCP" }));
  assert.equal(warningsOf("v1/pods", { spec: one({ ports }) }).length, 100);
  const apart = ports.map((port, index) => ({ ...port, hostPort: index + 1 }));
  assert.deepEqual(warningsOf("v1/pods", { spec: one({ ports: apart }) }), []);
});
