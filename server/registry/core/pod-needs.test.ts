/**
 * What a pod's specification, a volume and a claim need, and the sets that their values are of, in pairs: an object that
 * breaks only the rule, and one that just keeps it. The answers are those of release 1.36 to the same objects.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "../testing/problems.js";

type Parts = Record<string, unknown>;
type Pair = readonly [kept: Parts, broken: Parts, ...said: readonly string[]];

const main = { name: "main", image: "example.test/image:1" };

function judge(problems: (parts: Parts) => string[], pairs: readonly Pair[]): void {
  for (const [kept, broken, ...said] of pairs) {
    assert.deepEqual(problems(kept), [], JSON.stringify(kept));
    assert.deepEqual(problems(broken), said, JSON.stringify(broken));
  }
}

const ofPod = (spec: Parts) => problemsOf("v1/pods", { spec: { containers: [main], ...spec } });
const ofContainer = (parts: Parts) => ofPod({ containers: [{ ...main, ...parts }] });

test("R20: rules of a container's restarts", () => {
  const at = "spec.containers[0].restartPolicyRules[0]";
  const rule = { action: "Restart", exitCodes: { operator: "In", values: [1] } };
  const ruled = (parts: Parts) => ({
    restartPolicy: "Never",
    restartPolicyRules: [{ ...rule, ...parts }],
  });
  judge(ofContainer, [
    [
      ruled({}),
      ruled({ action: "" }),
      `${at}.action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"`,
    ],
    [
      ruled({}),
      ruled({ exitCodes: { operator: "Out", values: [1] } }),
      `${at}.exitCodes.operator: Unsupported value: "Out": supported values: "In", "NotIn"`,
    ],
    [
      ruled({}),
      ruled({ exitCodes: undefined }),
      `${at}.exitCodes: Required value: must be specified`,
    ],
  ]);
  const init = (parts: Parts) =>
    ofPod({ initContainers: [{ ...main, name: "i", restartPolicy: "Always", ...parts }] });
  // Without a policy its rules mean nothing.
  assert.deepEqual(
    init({ restartPolicy: undefined, restartPolicyRules: [{ ...rule, action: "x" }] }),
    [
      "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
    ],
  );
  const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
  judge(init, [
    [
      { resizePolicy },
      { resizePolicy, restartPolicy: "Never" },
      "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
    ],
  ]);
});

test("R20: a variable is read from a file of an empty volume of the pod", () => {
  const read = (volumeName: string, volumes: Parts[]) => ({
    volumes,
    containers: [
      {
        ...main,
        env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName, path: "p", key: "k" } } }],
      },
    ],
  });
  const at = "spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName";
  const kept = read("v", [{ name: "v", emptyDir: {} }]);
  judge(ofPod, [
    [kept, read("w", [{ name: "v", emptyDir: {} }]), `${at}: Not found: "w"`],
    [
      kept,
      read("v", [{ name: "v", secret: { secretName: "s" } }]),
      `${at}: Invalid value: "v": referenced volume must be of type emptyDir`,
    ],
  ]);
});

test("R25: tolerations compare by two operators, and numbers by none in this release", () => {
  const tolerate = (operator: string) => ({ tolerations: [{ key: "a", operator, value: "1" }] });
  const said = (operator: string, supported: string) =>
    `spec.tolerations[0].operator: Unsupported value: "${operator}": supported values: ${supported}`;
  judge(ofPod, [
    [tolerate("Equal"), tolerate("Gt"), said("Gt", '"Equal", "Exists", "Lt", "Gt"')],
    [tolerate("Equal"), tolerate("x"), said("x", '"Equal", "Exists"')],
  ]);
});

test("R28: causes are at the paths of the existing API, with and without an index", () => {
  const mount = { name: "v", mountPath: "/v" };
  const mounted = (parts: Parts) => ({
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [{ ...main, volumeMounts: [{ ...mount, ...parts }] }],
  });
  const at = "spec.containers[0].volumeMounts";
  judge(ofPod, [
    [
      mounted({ subPath: "a" }),
      mounted({ subPath: "/a" }),
      `${at}.subPath: Invalid value: "/a": must be a relative path`,
    ],
    [
      mounted({ mountPropagation: "None" }),
      mounted({ mountPropagation: "x" }),
      `${at}.mountPropagation: Unsupported value: "x": supported values: "Bidirectional", "HostToContainer", "None"`,
    ],
    [
      mounted({ recursiveReadOnly: "Enabled", readOnly: true }),
      mounted({ recursiveReadOnly: "Enabled" }),
      `${at}.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
    ],
    [mounted({}), mounted({ mountPath: "" }), `${at}[0].mountPath: Required value`],
  ]);
  judge(ofContainer, [
    [
      { resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] },
      { resizePolicy: [{ resourceName: "", restartPolicy: "NotRequired" }] },
      "spec.containers[0].resizePolicy: Required value",
    ],
  ]);
  const term = (topologyKey: string) => ({
    affinity: {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] },
    },
  });
  assert.deepEqual(ofPod(term("zone")), []);
  // An empty key is missing, and no key.
  assert.equal(ofPod(term("")).length, 3);
});

test("R46: values of closed sets, and what a volume's source needs", () => {
  judge(ofPod, [
    [
      { securityContext: { seLinuxChangePolicy: "Recursive" } },
      { securityContext: { seLinuxChangePolicy: "MountOption" } },
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
    ],
    [
      { preemptionPolicy: "Never" },
      { preemptionPolicy: "x" },
      'spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"',
    ],
    [{}, { containers: [] }, "spec.containers: Required value"],
    [
      { volumes: [{ name: "v", nfs: { server: "s", path: "/p" } }] },
      { volumes: [{ name: "v", nfs: { server: "s", path: "" } }] },
      "spec.volumes[0].nfs.path: Required value",
      'spec.volumes[0].nfs.path: Invalid value: "": must be an absolute path',
    ],
    [
      { volumes: [{ name: "v", cinder: { volumeID: "a", secretRef: { name: "s" } } }] },
      { volumes: [{ name: "v", cinder: { volumeID: "a", secretRef: {} } }] },
      "spec.volumes[0].cinder.secretRef.name: Required value",
    ],
  ]);
  judge(ofContainer, [
    [
      { imagePullPolicy: "Never" },
      { imagePullPolicy: "x" },
      'spec.containers[0].imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"',
    ],
    [
      { ports: [{ containerPort: 1, protocol: "SCTP" }] },
      { ports: [{ containerPort: 1, protocol: "x" }] },
      'spec.containers[0].ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
    ],
  ]);
});

test("R46: a second source of a PersistentVolume is a mistake of its own, and not looked into", () => {
  const spec = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
  const volume = (parts: Parts) =>
    problemsOf("v1/persistentvolumes", { spec: { ...spec, ...parts } });
  const kept = { hostPath: { path: "/a" } };
  judge(volume, [
    [kept, { ...kept, csi: {} }, "spec.csi: Forbidden: may not specify more than 1 volume type"],
    [
      kept,
      { ...kept, cephfs: {} },
      "spec.cephFS: Forbidden: may not specify more than 1 volume type",
    ],
    [
      { csi: { driver: "d", volumeHandle: "h" } },
      { csi: { driver: "d" } },
      "spec.csi.volumeHandle: Required value",
    ],
  ]);
});

test("R40: a volume within an attachment has only what it can have without an object", () => {
  const volume = { csi: { driver: "d", volumeHandle: "h" }, accessModes: ["ReadWriteOnce"] };
  const attach = (parts: Parts) =>
    problemsOf("storage.k8s.io/v1/volumeattachments", {
      spec: {
        attacher: "a",
        nodeName: "n",
        source: {
          inlineVolumeSpec: { ...volume, persistentVolumeReclaimPolicy: "Retain", ...parts },
        },
      },
    });
  const at = "spec.source.inlineVolumeSpec";
  judge(attach, [
    [
      {},
      { capacity: { storage: "1Gi" } },
      `${at}.capacity: Forbidden: may not be specified in the context of inline volumes`,
    ],
    [
      {},
      { storageClassName: "c" },
      `${at}.storageClassName: Forbidden: may not be specified in the context of inline volumes`,
    ],
  ]);
});

test("R17: containers are processes of a Windows node all together, in its network", () => {
  const hosted = { securityContext: { windowsOptions: { hostProcess: true } } };
  judge(ofPod, [
    [
      { ...hosted, hostNetwork: true },
      hosted,
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
    ],
    [
      { hostNetwork: true, containers: [{ ...main, ...hosted }] },
      {
        hostNetwork: true,
        containers: [
          { ...main, ...hosted },
          { ...main, name: "b" },
        ],
      },
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    ],
  ]);
});
