/** Rules for pods, with kube-apiserver's messages: what is accepted and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, problemsOf, type TestObject } from "../testing/problems.js";

const main = { name: "main", image: "example.test/image:1" };
const pod = (spec: object = {}): TestObject => ({ spec: { containers: [main], ...spec } });
const withContainer = (parts: object, spec: object = {}): TestObject =>
  pod({ ...spec, containers: [{ ...main, ...parts }] });
const problems = (object: TestObject) => problemsOf("v1/pods", object);
const at = "spec.containers[0]";

const data = { name: "data", emptyDir: {} };

test("pods that break no rule are accepted", () => {
  const table: TestObject[] = [
    pod(),
    withContainer({ image: "registry.test:5000/a/b@sha256:00" }),
    withContainer({
      ports: [
        { containerPort: 80, name: "http" },
        { containerPort: 80, protocol: "UDP", hostPort: 80 },
      ],
      env: [
        { name: "A.b-c", value: "1" },
        { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
        { name: "L", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
        { name: "S", valueFrom: { secretKeyRef: { name: "s", key: "a.b" } } },
      ],
      envFrom: [{ prefix: "P_", configMapRef: { name: "c" } }],
      resources: {
        requests: { cpu: "100m", memory: "64Mi", "example.com/gpu": "1" },
        limits: { cpu: "1", "example.com/gpu": "1" },
      },
      livenessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 5 },
      readinessProbe: { tcpSocket: { port: 80 }, successThreshold: 3 },
      startupProbe: { exec: { command: ["true"] } },
      lifecycle: { preStop: { sleep: { seconds: 5 } } },
      securityContext: { runAsUser: 1000, capabilities: { add: ["NET_ADMIN"] }, privileged: true },
    }),
    withContainer(
      { volumeMounts: [{ name: "data", mountPath: "/data", subPath: "a/..b" }] },
      { volumes: [data] },
    ),
    pod({
      volumes: [
        { name: "none" },
        { name: "cm", configMap: { name: "c", items: [{ key: "a", path: "x/y", mode: 420 }] } },
        { name: "secret", secret: { secretName: "s", defaultMode: 256 } },
        { name: "claim", persistentVolumeClaim: { claimName: "c" } },
        {
          name: "token",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
              { configMap: { name: "ca", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              {
                downwardAPI: {
                  items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }],
                },
              },
            ],
          },
        },
        {
          name: "scratch",
          ephemeral: {
            volumeClaimTemplate: {
              spec: {
                accessModes: ["ReadWriteOnce"],
                resources: { requests: { storage: "1Gi" } },
              },
            },
          },
        },
      ],
      serviceAccountName: "web",
    }),
    pod({
      initContainers: [
        { name: "first", image: "i" },
        {
          name: "sidecar",
          image: "i",
          restartPolicy: "Always",
          livenessProbe: { exec: { command: ["x"] } },
        },
      ],
    }),
    pod({
      hostNetwork: true,
      containers: [{ ...main, ports: [{ containerPort: 80 }] }],
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["10.0.0.10"], searches: ["_tcp.example.com.", "."] },
    }),
    pod({
      tolerations: [
        { operator: "Exists" },
        { key: "a", effect: "NoExecute", tolerationSeconds: 300, operator: "Exists" },
      ],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] },
            ],
          },
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchLabels: { app: "x" } },
              },
            },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" },
      ],
    }),
    pod({ restartPolicy: "Never", activeDeadlineSeconds: 1, schedulingGates: [{ name: "a/b" }] }),
  ];
  for (const object of table) assert.deepEqual(problems(object), [], JSON.stringify(object));
});

/** Changes to a valid pod, and the resulting messages. */
const CONTAINER_ERRORS: readonly [object, ...string[]][] = [
  [{ name: "" }, `${at}.name: Required value`],
  [
    { name: "Main" },
    `${at}.name: Invalid value: "Main": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
  ],
  [{ image: "" }, `${at}.image: Required value`],
  [
    { image: " x" },
    `${at}.image: Invalid value: " x": must not have leading or trailing whitespace`,
  ],
  [
    { imagePullPolicy: "Sometimes" },
    `${at}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
  ],
  [
    { ports: [{ containerPort: 70000 }] },
    `${at}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
  ],
  [{ ports: [{}] }, `${at}.ports[0].containerPort: Required value`],
  [
    {
      ports: [
        { containerPort: 1, name: "a" },
        { containerPort: 2, name: "a" },
      ],
    },
    `${at}.ports[1].name: Duplicate value: "a"`,
  ],
  [
    { ports: [{ containerPort: 1, name: "a_very_long_port" }] },
    `${at}.ports[0].name: Invalid value: "a_very_long_port": must be no more than 15 characters`,
    `${at}.ports[0].name: Invalid value: "a_very_long_port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
  ],
  [
    {
      ports: [
        { containerPort: 1, hostPort: 9 },
        { containerPort: 2, hostPort: 9 },
      ],
    },
    `${at}.ports[1].hostPort: Duplicate value: "TCP//9"`,
  ],
  [
    { env: [{ name: "A=B" }] },
    `${at}.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
  ],
  [
    { env: [{ name: "A", value: "1", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] },
    `${at}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
  ],
  [
    { env: [{ name: "A", valueFrom: {} }] },
    `${at}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\``,
  ],
  [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.x" } } }] },
    `${at}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x`,
  ],
  [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels" } } }] },
    `${at}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
  ],
  [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.x['a']" } } }] },
    `${at}.env[0].valueFrom.fieldRef: Invalid value: "spec.x": does not support subscript`,
  ],
  [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.x['a['b']" } } }] },
    `${at}.env[0].valueFrom.fieldRef: Invalid value: "spec.x": does not support subscript`,
  ],
  [
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "['a']" } } }] },
    `${at}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "['a']": error converting fieldPath: field label not supported: ['a']`,
  ],
  [
    { envFrom: [{ prefix: "A" }] },
    `${at}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
  ],
  [
    { volumeMounts: [{ name: "nope", mountPath: "/x" }] },
    `${at}.volumeMounts[0].name: Not found: "nope"`,
  ],
  [
    { resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } },
    `${at}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
  ],
  [
    { resources: { limits: { gold: "1" } } },
    `${at}.resources.limits[gold]: Invalid value: "gold": must be a standard resource type or fully qualified`,
    `${at}.resources.limits[gold]: Invalid value: "gold": must be a standard resource for containers`,
    `${at}.resources.requests[gold]: Invalid value: "gold": must be a standard resource type or fully qualified`,
    `${at}.resources.requests[gold]: Invalid value: "gold": must be a standard resource for containers`,
  ],
  [
    { resources: { requests: { memory: "-1" } } },
    `${at}.resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`,
  ],
  [
    { resources: { requests: { "example.com/gpu": "1" } } },
    `${at}.resources.limits: Required value: Limit must be set for non overcommitable resources`,
  ],
  [
    { livenessProbe: { exec: { command: ["x"] }, successThreshold: 2 } },
    `${at}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
  ],
  [{ readinessProbe: {} }, `${at}.readinessProbe: Required value: must specify a handler type`],
  [
    { readinessProbe: { exec: { command: ["x"] }, tcpSocket: { port: 1 } } },
    `${at}.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
  ],
  [
    { readinessProbe: { httpGet: { port: 0 } } },
    `${at}.readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
  ],
  [
    { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
    `${at}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
  ],
  [
    { securityContext: { runAsUser: -1 } },
    `${at}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive`,
  ],
  [
    { securityContext: { seccompProfile: { type: "Localhost" } } },
    `${at}.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
  ],
  [
    { securityContext: { privileged: true, allowPrivilegeEscalation: false } },
    `${at}.securityContext: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
  ],
  [
    { restartPolicy: "Often" },
    `${at}.restartPolicy: Unsupported value: "Often": supported values: "Always", "Never", "OnFailure"`,
  ],
];

test("containers that are wrong are refused with the fields that are", () => {
  for (const [parts, ...expected] of CONTAINER_ERRORS) {
    assert.deepEqual(problems(withContainer(parts)), expected, JSON.stringify(parts));
  }
});

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const wanted = (requirement: object) => ({
  nodeSelectorTerms: [{ matchExpressions: [requirement] }],
});

const LABEL_RULE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const SPEC_ERRORS: readonly [object, ...string[]][] = [
  [{ containers: [] }, "spec.containers: Required value"],
  [{ containers: [main, main] }, 'spec.containers[1].name: Duplicate value: "main"'],
  [{ initContainers: [main] }, 'spec.initContainers[0].name: Duplicate value: "main"'],
  [
    {
      initContainers: [
        { name: "i", image: "i", lifecycle: { preStop: { sleep: { seconds: 1 } } } },
      ],
    },
    "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
  ],
  [
    { ephemeralContainers: [{ name: "e", image: "i" }] },
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
  ],
  [
    { restartPolicy: "Maybe" },
    'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
  ],
  [{ volumes: [data, data] }, 'spec.volumes[1].name: Duplicate value: "data"'],
  [
    { volumes: [{ ...data, hostPath: { path: "/x" } }] },
    "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
  ],
  [
    { volumes: [{ name: "h", hostPath: { path: "/a/../b" } }] },
    `spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
  ],
  [{ volumes: [{ name: "s", secret: {} }] }, "spec.volumes[0].secret.secretName: Required value"],
  [
    { volumes: [{ name: "c", configMap: { name: "c", defaultMode: 512 } }] },
    "spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
  ],
  [
    { volumes: [{ name: "c", configMap: { name: "c", items: [{ key: "k", path: "/abs" }] } }] },
    'spec.volumes[0].configMap.items[0].path: Invalid value: "/abs": must be a relative path',
  ],
  [
    {
      serviceAccountName: "a",
      volumes: [
        {
          name: "p",
          projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 1 } }] },
        },
      ],
    },
    "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
  ],
  [
    { nodeSelector: { "not a key": "x" } },
    "spec.nodeSelector: Invalid value: \"not a key\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    { tolerations: [{ operator: "Equal" }] },
    'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
  ],
  [
    { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 1 }] },
    "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
  ],
  [
    { dnsPolicy: "None" },
    "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
  ],
  [
    { dnsConfig: { nameservers: ["one"] } },
    'spec.dnsConfig.nameservers[0]: Invalid value: "one": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    { hostNetwork: true, containers: [{ ...main, ports: [{ containerPort: 80, hostPort: 81 }] }] },
    "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
  ],
  [
    { activeDeadlineSeconds: 0 },
    "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
  ],
  [
    {
      topologySpreadConstraints: [
        { maxSkew: 0, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule" },
      ],
    },
    "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
  ],
  [{ os: {} }, "spec.os.name: Required value"],
  [
    { schedulingGates: [{}] },
    'spec.schedulingGates[0]: Invalid value: "": name part must be non-empty',
    `spec.schedulingGates[0]: Invalid value: "": ${LABEL_RULE}`,
  ],
  [
    { hostAliases: [{ hostnames: ["a"] }] },
    'spec.hostAliases[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    { containers: [{ ...main, volumeMounts: [{}] }] },
    "spec.containers[0].volumeMounts[0].name: Required value",
    'spec.containers[0].volumeMounts[0].name: Not found: ""',
    "spec.containers[0].volumeMounts[0].mountPath: Required value",
  ],
  [
    { topologySpreadConstraints: [{ maxSkew: 1 }] },
    "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
    'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
  ],
  [
    { affinity: { podAntiAffinity: { [REQUIRED]: [{ topologyKey: "" }] } } },
    `spec.affinity.podAntiAffinity.${REQUIRED}[0].topologyKey: Required value: can not be empty`,
    `spec.affinity.podAntiAffinity.${REQUIRED}[0].topologyKey: Invalid value: "": name part must be non-empty`,
    `spec.affinity.podAntiAffinity.${REQUIRED}[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  ],
  [
    { affinity: { nodeAffinity: { [REQUIRED]: wanted({ key: "a", operator: "Is" }) } } },
    `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`,
  ],
  [
    { affinity: { nodeAffinity: { [REQUIRED]: {} } } },
    `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms: Required value: must have at least one node selector term`,
  ],
  [
    { tolerations: [{ key: "a", operator: "Exists", effect: "Never" }] },
    'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [
    { dnsPolicy: "Mine" },
    'spec.dnsPolicy: Unsupported value: "Mine": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
  ],
  [
    { securityContext: { seccompProfile: {}, appArmorProfile: {} } },
    "spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set",
    "spec.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set",
  ],
  [
    { nodeName: "n", schedulingGates: [{ name: "a/b" }] },
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  ],
  [
    { os: { name: "windows" }, securityContext: { runAsUser: 1 } },
    "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
  ],
  [
    {
      resources: { requests: { cpu: "1" } },
      containers: [{ ...main, resources: { requests: { cpu: "2" } } }],
    },
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  ],
];

test("specifications that are wrong are refused with the fields that are", () => {
  for (const [parts, ...expected] of SPEC_ERRORS) {
    assert.deepEqual(problems(pod(parts)), expected, JSON.stringify(parts));
  }
});

const change = (before: object, after: object, subresource = "") =>
  changeProblems("v1/pods", pod(before), pod(after), subresource);

test("a pod's images, deadline and added tolerations may change", () => {
  assert.deepEqual(change({}, { containers: [{ ...main, image: "other:2" }] }), []);
  assert.deepEqual(change({}, { activeDeadlineSeconds: 5 }), []);
  assert.deepEqual(change({ activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: 4 }), []);
  const first = { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
  const second = { key: "b", operator: "Exists" };
  const longer = { ...first, tolerationSeconds: 9 };
  assert.deepEqual(change({ tolerations: [first] }, { tolerations: [longer, second] }), []);
  assert.deepEqual(change({ schedulingGates: [{ name: "a/b" }] }, {}), []);
  const gated = { schedulingGates: [{ name: "a/b" }] };
  assert.deepEqual(change(gated, { ...gated, nodeSelector: { a: "b" } }), []);
});

test("nothing else of a pod's specification may change", () => {
  assert.deepEqual(change({ activeDeadlineSeconds: 5 }, {}), [
    "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
  ]);
  assert.deepEqual(change({ activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: 6 }), [
    "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
  ]);
  assert.deepEqual(change({}, { containers: [main, { name: "b", image: "b" }] }), [
    "spec.containers: Forbidden: pod updates may not add or remove containers",
  ]);
  assert.deepEqual(change({ tolerations: [{ operator: "Exists" }] }, {}), [
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
  ]);
  const refused = [
    { nodeSelector: { a: "b" } },
    { hostNetwork: true },
    { containers: [{ ...main, env: [{ name: "A", value: "1" }] }] },
    { containers: [{ ...main, resources: { requests: { cpu: "1" } } }] },
  ];
  for (const after of refused) {
    const found = change({}, after);
    assert.equal(found.length, 1, JSON.stringify(after));
    assert.match(
      found[0] ?? "",
      /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,`spec\.initContainers\[\*\]\.image`,`spec\.activeDeadlineSeconds`,`spec\.tolerations`/,
    );
  }
});

test("ephemeral containers are added, never changed or taken away", () => {
  const debug = { name: "debug", image: "busybox", targetContainerName: "main" };
  const end = "ephemeralcontainers";
  assert.deepEqual(change({}, { ephemeralContainers: [debug] }, end), []);
  assert.deepEqual(
    change({}, { ephemeralContainers: [{ ...debug, targetContainerName: "other" }] }, end),
    ['spec.ephemeralContainers[0].targetContainerName: Not found: "other"'],
  );
  const ports = [{ containerPort: 80 }];
  assert.deepEqual(change({}, { ephemeralContainers: [{ ...debug, ports }] }, end), [
    "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
  ]);
});

test("a resize changes processor and memory and nothing else", () => {
  const sized = (cpu: string, more: object = {}) => ({
    containers: [{ ...main, ...more, resources: { requests: { cpu }, limits: { cpu: "2" } } }],
  });
  assert.deepEqual(change(sized("1"), sized("1500m"), "resize"), []);
  assert.deepEqual(change(sized("1"), sized("1", { image: "x" }), "resize"), [
    "spec: Forbidden: only cpu and memory resources are mutable",
  ]);
  const without = { containers: [{ ...main, resources: { limits: { cpu: "2" } } }] };
  assert.ok(
    change(sized("1"), { containers: [{ ...main, resources: {} }] }, "resize").includes(
      "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
    ),
  );
  assert.deepEqual(change(sized("1"), without, "resize"), []);
});

test("the status of a pod keeps its quality of service, and what ended stays so", () => {
  const status = (parts: object) => ({ ...pod({ restartPolicy: "Never" }), status: parts });
  const qosClass = "BestEffort";
  const before = status({
    qosClass,
    containerStatuses: [{ name: "main", state: { terminated: { exitCode: 0 } } }],
  });
  const running = status({
    qosClass,
    containerStatuses: [{ name: "main", state: { running: {} } }],
  });
  assert.deepEqual(changeProblems("v1/pods", before, running, "status"), [
    "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
  ]);
  const other = status({ qosClass: "Guaranteed" });
  assert.deepEqual(changeProblems("v1/pods", before, other, "status"), [
    'status.qosClass: Invalid value: "Guaranteed": field is immutable',
  ]);
});
