/**
 * Rules of pods in pairs: an object that breaks only the rule, with what is said, and one that just keeps it. The
 * answers are those of release 1.36 to the same objects.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf, storedOf } from "../testing/problems.js";

const main = { name: "main", image: "example.test/image:1" };
type Parts = Record<string, unknown>;
const problems = (spec: Parts) => problemsOf("v1/pods", { spec: { containers: [main], ...spec } });

type Pair = readonly [kept: Parts, broken: Parts, ...said: readonly string[]];

function judge(pairs: readonly Pair[]): void {
  for (const [kept, broken, ...said] of pairs) {
    assert.deepEqual(problems(kept), [], JSON.stringify(kept));
    assert.deepEqual(problems(broken), said, JSON.stringify(broken));
  }
}

const DEVICE = {
  containers: [{ ...main, volumeDevices: [{ name: "d", devicePath: "/x" }] }],
  volumes: [{ name: "d", persistentVolumeClaim: { claimName: "c" } }],
};
const NO_USERS = "Forbidden: when `hostUsers` is false";

test("R16: hostnameOverride is a domain, and the only one that names the host", () => {
  const own = { hostnameOverride: "a.example" };
  const at = "spec.hostnameOverride: Forbidden: may not be specified when";
  judge([
    [own, { ...own, setHostnameAsFQDN: true }, `${at} setHostnameAsFQDN is true`],
    [own, { ...own, hostNetwork: true }, `${at} hostNetwork is true`],
    [
      { hostnameOverride: "a".repeat(63) },
      { hostnameOverride: "a".repeat(65) },
      "spec.hostnameOverride: Too long: may not be more than 64 bytes",
    ],
  ]);
  assert.match(String(problems({ hostnameOverride: "Bad_" })), /a lowercase RFC 1123 subdomain/);
});

test("R17: users of a pod's own go with no namespace of the node and no block device", () => {
  judge([
    [
      { hostUsers: false },
      { hostUsers: false, hostNetwork: true },
      `spec.hostNetwork: ${NO_USERS}`,
    ],
    [
      { hostUsers: true, hostPID: true },
      { hostUsers: false, hostPID: true },
      `spec.HostPID: ${NO_USERS}`,
    ],
    [DEVICE, { ...DEVICE, hostUsers: false }, `spec.containers[0].volumeDevices: ${NO_USERS}`],
  ]);
});

test("R24: a negative time to end in is one second", () => {
  const graceOf = (seconds: number) => {
    const spec = { containers: [main], terminationGracePeriodSeconds: seconds };
    return (storedOf("v1/pods", { spec }).spec as Parts).terminationGracePeriodSeconds;
  };
  assert.deepEqual([-5, -1, 0, 5].map(graceOf), [1, 1, 0, 5]);
});

test("R26: sources of volumes that drivers outside of this API read", () => {
  const at = "spec.volumes[0]";
  const volume = (source: Parts): Parts => ({ volumes: [{ name: "v", ...source }] });
  const pair = (kept: Parts, broken: Parts, ...said: string[]): Pair => [
    volume(kept),
    volume(broken),
    ...said.map((line) => `${at}.${line}`),
  ];
  const iqn = "iqn.2001-04.com.example:storage";
  const iscsi = { targetPortal: "192.0.2.1", iqn };
  const disk = { diskName: "a", diskURI: "https://a.example/d.vhd" };
  const scale = { gateway: "a", system: "b", secretRef: { name: "x" } };
  const range = (from: number) => `Invalid value: 300: must be between ${from} and 255, inclusive`;
  judge([
    pair(
      { fc: { wwids: ["a"] } },
      { fc: {} },
      "fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both",
    ),
    pair({ iscsi }, { iscsi: { ...iscsi, lun: 300 } }, `iscsi.lun: ${range(0)}`),
    pair(
      { iscsi },
      { iscsi: { ...iscsi, iqn: "x" } },
      'iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
    ),
    pair(
      { iscsi },
      { iscsi: { ...iscsi, iqn: "iqn" } },
      'iscsi.iqn: Invalid value: "iqn": must be valid format',
    ),
    pair(
      { azureDisk: disk },
      { azureDisk: { ...disk, diskURI: "x" } },
      'azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
    ),
    pair(
      { scaleIO: { ...scale, volumeName: "v" } },
      { scaleIO: scale },
      "scaleIO.volumeName: Required value",
    ),
    pair(
      { storageos: { volumeName: "v" } },
      { storageos: {} },
      "storageos.volumeName: Required value",
    ),
    pair(
      { flocker: { datasetName: "d" } },
      { flocker: {} },
      "flocker: Required value: one of datasetName and datasetUUID is required",
    ),
    pair(
      { awsElasticBlockStore: { volumeID: "a", partition: 255 } },
      { awsElasticBlockStore: { volumeID: "a", partition: 300 } },
      `awsElasticBlockStore.partition: ${range(1)}`,
    ),
    pair(
      { gcePersistentDisk: { pdName: "a", partition: 1 } },
      { gcePersistentDisk: { pdName: "a", partition: 300 } },
      `persistentDisk.partition: ${range(1)}`,
    ),
    pair(
      { quobyte: { registry: "a:1,[::1]:2", volume: "v" } },
      { quobyte: { registry: "a", volume: "v" } },
      'quobyte.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas',
    ),
    pair(
      { csi: { driver: "d", nodePublishSecretRef: { name: "s" } } },
      { csi: { driver: "d", nodePublishSecretRef: {} } },
      "csi.nodePublishSecretRef.name: Required value",
    ),
  ]);
});

test("R46: a gRPC probe without a port asks port 0, which is none", () => {
  const probed = (grpc: Parts): Parts => ({ containers: [{ ...main, livenessProbe: { grpc } }] });
  const at = "spec.containers[0].livenessProbe.grpc.port";
  judge([
    [
      probed({ port: 1 }),
      probed({}),
      `${at}: Invalid value: 0: must be between 1 and 65535, inclusive`,
    ],
  ]);
});
