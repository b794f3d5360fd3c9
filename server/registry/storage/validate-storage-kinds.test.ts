/** Rules of the storage group, kind by kind: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const type = (parts: object): TestObject => ({ provisioner: "a.b/c", ...parts });
const attachment = (nodeName: string): TestObject => ({
  spec: { attacher: "a.b", nodeName, source: { persistentVolumeName: "p" } },
});
const attributes = (driverName: string, value: string): TestObject => ({
  driverName,
  parameters: { value },
});

test("storage classes are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/storageclasses", [
    [{ provisioner: "example.com/Disk", parameters: { a: "b" }, reclaimPolicy: "Retain" }],
    [
      { provisioner: "a/b/c" },
      "provisioner: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
    [{ provisioner: "a.b/c", reclaimPolicy: "" }],
    [
      { provisioner: "a.b/c", reclaimPolicy: "Keep" },
      'reclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"',
    ],
    [
      { provisioner: "a.b/c", reclaimPolicy: "Recycle" },
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    ],
    [{}, "provisioner: Required value"],
    [
      { provisioner: "a.b/c", parameters: { "": "x" } },
      'parameters: Invalid value: "": field can not be empty.',
    ],
    [
      {
        provisioner: "a.b/c",
        parameters: Object.fromEntries(
          Array.from({ length: 513 }, (_, index) => [`k${index}`, ""]),
        ),
      },
      "parameters: Too long: may not be more than 512 bytes",
    ],
    [
      { provisioner: "a.b/c", parameters: { a: "a".repeat(256 * 1024) } },
      "parameters: Too long: may not be more than 262144 bytes",
    ],
    [
      { provisioner: "a.b/c", volumeBindingMode: "Now" },
      'volumeBindingMode: Unsupported value: "Now": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
    [
      {
        provisioner: "a.b/c",
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: "a b", values: ["x", "x"] },
              { key: "a b", values: ["y"] },
            ],
          },
        ],
      },
      'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "x"',
      "allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "allowedTopologies[0].matchLabelExpressions[1].key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "a b"',
    ],
  ]);
});

test("a storage class keeps what volumes were made by", () => {
  checkChanges("storage.k8s.io/v1/storageclasses", [
    [type({}), type({ allowVolumeExpansion: true, mountOptions: ["ro"] })],
    [
      type({}),
      type({ reclaimPolicy: "Retain" }),
      'reclaimPolicy: Invalid value: "Retain": field is immutable',
    ],
    [
      type({}),
      { provisioner: "a.b/d", parameters: { x: "y" }, volumeBindingMode: "WaitForFirstConsumer" },
      'provisioner: Invalid value: "a.b/d": field is immutable',
      'parameters: Invalid value: {"x":"y"}: field is immutable',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ],
  ]);
});

test("drivers are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/csidrivers", [
    [{ metadata: { name: "csi.example.com" }, spec: { volumeLifecycleModes: ["Ephemeral"] } }],
    [
      { spec: { fsGroupPolicy: "Some" } },
      'spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    ],
    [{ metadata: { name: "a".repeat(64) }, spec: {} }],
    [
      { spec: { volumeLifecycleModes: ["Later"] } },
      'spec.volumeLifecycleModes: Unsupported value: "Later": supported values: "Persistent", "Ephemeral"',
    ],
    [
      {
        spec: {
          tokenRequests: [
            { audience: "a", expirationSeconds: 599 },
            { audience: "a", expirationSeconds: 4294967297 },
          ],
        },
      },
      "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
      'spec.tokenRequests[1].audience: Duplicate value: "a"',
      "spec.tokenRequests[1].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
    ],
  ]);
});

test("a driver keeps how it attaches and what it makes", () => {
  checkChanges("storage.k8s.io/v1/csidrivers", [
    [{ spec: { podInfoOnMount: false } }, { spec: { podInfoOnMount: true } }],
    [
      { spec: { attachRequired: true } },
      { spec: { attachRequired: false } },
      "spec.attachedRequired: Invalid value: false: field is immutable",
    ],
    [
      { spec: { volumeLifecycleModes: ["Persistent"] } },
      { spec: { volumeLifecycleModes: ["Ephemeral"] } },
      'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ],
  ]);
});

test("drivers of nodes are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/csinodes", [
    [
      { spec: { drivers: [{ name: "A_", nodeID: "a".repeat(193), allocatable: { count: -1 } }] } },
      "spec.drivers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      {
        spec: {
          drivers: [
            { name: "a", nodeID: "1", topologyKeys: ["", "a b", "z", "z"] },
            { name: "a", nodeID: "" },
          ],
        },
      },
      "spec.drivers[0]: Required value",
      'spec.drivers[0]: Invalid value: "": name part must be non-empty',
      "spec.drivers[0]: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "spec.drivers[0]: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'spec.drivers[0]: Duplicate value: "z"',
      "spec.drivers[1].nodeID: Required value",
      'spec.drivers[1].name: Duplicate value: "a"',
    ],
  ]);
});

test("attachments of volumes are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/volumeattachments", [
    [
      { spec: { attacher: "a.b", nodeName: "n", source: {} } },
      "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
    [
      { spec: { attacher: "", nodeName: "", source: { persistentVolumeName: "" } } },
      "spec.attacher: Required value",
      "spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
      "spec.source.persistentVolumeName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.nodeName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      {
        spec: {
          attacher: "a.b",
          nodeName: "n",
          source: { persistentVolumeName: "p", inlineVolumeSpec: {} },
        },
      },
      "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
  ]);
});

test("an attachment of a volume stays as it is", () => {
  checkChanges("storage.k8s.io/v1/volumeattachments", [
    [
      attachment("n"),
      attachment("m"),
      'spec: Invalid value: {"attacher":"a.b","nodeName":"m","source":{"persistentVolumeName":"p"}}: field is immutable',
    ],
  ]);
});

test("classes of volume attributes are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/volumeattributesclasses", [
    [{ driverName: "A.b", parameters: { a: "b" } }],
    [{ driverName: "a.b" }, "parameters: Required value: must contain at least one key/value pair"],
    [{ driverName: "a_b", parameters: { a: "b" } }],
  ]);
});

test("a class of volume attributes stays as it is", () => {
  checkChanges("storage.k8s.io/v1/volumeattributesclasses", [
    [
      attributes("a.b", "1"),
      attributes("a.c", "2"),
      "driverName: Forbidden: updates to driverName are forbidden.",
      "parameters: Forbidden: updates to parameters are forbidden.",
    ],
  ]);
});

test("storage capacities are accepted or refused by their rules, field by field", () => {
  checkProblems("storage.k8s.io/v1/csistoragecapacities", [
    [{ storageClassName: "fast", capacity: "1Gi" }],
    [
      { storageClassName: "F!", capacity: "-1", maximumVolumeSize: "-2" },
      "storageClassName: Invalid value: \"F!\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      { storageClassName: "", nodeTopology: { matchExpressions: [{ key: "a", operator: "In" }] } },
      "storageClassName: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ]);
});

test("a storage capacity grows and shrinks where it is", () => {
  checkChanges("storage.k8s.io/v1/csistoragecapacities", [
    [
      { storageClassName: "fast", capacity: "1Gi" },
      { storageClassName: "fast", capacity: "2Gi" },
    ],
    [
      { storageClassName: "fast" },
      { storageClassName: "slow", nodeTopology: {} },
      'storageClassName: Invalid value: "slow": field is immutable',
      "nodeTopology: Invalid value: {}: field is immutable",
    ],
  ]);
});

test("R13, R40, R43: the rules of storage kinds of 1.36, in pairs", () => {
  const classOf = (parts: object) => ({ provisioner: "a.b", ...parts });
  const term = (...values: string[]) => ({ matchLabelExpressions: [{ key: "a", values }] });
  const classes = "storage.k8s.io/v1/storageclasses";
  checkProblems(classes, [
    [classOf({ allowedTopologies: [term("b"), term("c")] })],
    [
      classOf({ allowedTopologies: [term("b", "c"), term("c", "b")] }),
      'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
    ],
  ]);
  checkChanges(classes, [
    [
      classOf({}),
      classOf({ provisioner: "c" }),
      'provisioner: Invalid value: "c": field is immutable',
    ],
  ]);
  const driver = (spec: object) => ({ metadata: { name: "d.e" }, spec });
  checkProblems("storage.k8s.io/v1/csidrivers", [
    [driver({ nodeAllocatableUpdatePeriodSeconds: 10 })],
    [
      driver({ nodeAllocatableUpdatePeriodSeconds: 9 }),
      "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
    ],
    [driver({ serviceAccountTokenInSecrets: true, tokenRequests: [{ audience: "a" }] })],
    [
      driver({ serviceAccountTokenInSecrets: true }),
      "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
    ],
  ]);
  const node = (parts: object) => ({
    spec: { drivers: [{ name: "d.e", nodeID: "n", topologyKeys: ["a"], ...parts }] },
  });
  checkChanges("storage.k8s.io/v1/csinodes", [
    [node({}), node({ allocatable: { count: 3 } })],
    [
      node({}),
      node({ nodeID: "m" }),
      'spec.drivers: Invalid value: {"Name":"d.e","NodeID":"m","TopologyKeys":["a"],"Allocatable":null}: field is immutable',
    ],
  ]);
  const attachment = (parts: object) => ({
    spec: { attacher: "d.e", nodeName: "n", source: { persistentVolumeName: "pv" }, ...parts },
  });
  const DNS =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  checkProblems("storage.k8s.io/v1/volumeattachments", [
    [attachment({})],
    [attachment({ nodeName: "A_" }), `spec.nodeName: Invalid value: "A_": ${DNS}`],
  ]);
  checkProblems("storage.k8s.io/v1/csistoragecapacities", [
    [{ storageClassName: "s", maximumVolumeSize: "-1" }],
    [
      { storageClassName: "s", capacity: "-1" },
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ],
  ]);
});
