/**
 * Bodies of kubectl 1.32, each with its command: another implementation's bytes are decoded and encoded
 * again identically.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../api/meta.js";
import { parseGroupVersion } from "../api/names.js";
import { createNaming } from "../api/naming.js";
import { createObjectCodecs } from "../schema/object-codec.js";
import { parseJson } from "../schema/parse-json.js";
import { loadFacts } from "../types/load-facts.js";
import { createProtobufCodecs } from "./protobuf.js";

const facts = loadFacts(createNaming("kubernetes"));
const codecs = createProtobufCodecs(facts);
const objectCodecs = createObjectCodecs(facts);

/** The arguments of kubectl, the body in hexadecimal, and its content. */
const BODIES: readonly (readonly [string, string, JsonObject])[] = [
  [
    "create namespace shop",
    "6b3873000a0f0a02763112094e616d657370616365121c0a140a0473686f7012001a0022002a0032003800420012001a020a001a002200",
    { kind: "Namespace", apiVersion: "v1", metadata: { name: "shop" }, spec: {}, status: {} },
  ],
  [
    "create deployment web --image=nginx --replicas=3 --port=80",
    "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b8010a1f0a0377656212001a0022002a003200380042005a0a0a0361707012037765621286010803120c0a0a0a0361707012037765621a6c0a1c0a0012001a0022002a003200380042005a0a0a036170701203776562124c122e0a056e67696e7812056e67696e782a00320a0a001000185022002a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200",
    {
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: { name: "web", labels: { app: "web" } },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: {
            containers: [
              { name: "nginx", image: "nginx", ports: [{ containerPort: 80 }], resources: {} },
            ],
          },
        },
        strategy: {},
      },
      status: {},
    },
  ],
  [
    "create configmap cm --from-literal=a=b --from-literal='z=<&>é😀'",
    "6b3873000a0f0a0276311209436f6e6669674d6170122c0a120a02636d12001a0022002a0032003800420012060a0161120162120e0a017a12093c263ec3a9f09f98801a002200",
    {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "cm" },
      data: { a: "b", z: "<&>é😀" },
    },
  ],
  [
    "create secret generic s --from-literal=a=b",
    "6b3873000a0c0a0276311206536563726574121d0a110a017312001a0022002a0032003800420012060a01611201621a001a002200",
    { kind: "Secret", apiVersion: "v1", metadata: { name: "s" }, data: { a: "Yg==" } },
  ],
  [
    "create service nodeport np --tcp=80:8080",
    "6b3873000a0d0a02763112075365727669636512650a1d0a026e7012001a0022002a003200380042005a090a0361707012026e7012400a1b0a0738302d38303830120354435018502207080010903f1a00280012090a0361707012026e701a0022084e6f6465506f72743a00420052005a00600068001a020a001a002200",
    {
      kind: "Service",
      apiVersion: "v1",
      metadata: { name: "np", labels: { app: "np" } },
      spec: {
        ports: [{ name: "80-8080", protocol: "TCP", port: 80, targetPort: 8080 }],
        selector: { app: "np" },
        type: "NodePort",
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    "create job j --image=busybox -- date",
    "6b3873000a0f0a0862617463682f763112034a6f62127e0a110a016a12001a0022002a00320038004200125f325d0a100a0012001a0022002a00320038004200124912260a016a120762757379626f781a04646174652a0042006a007200800100880100900100a201001a054e65766572320042004a0052005800600068008201008a01009a0100c201001a082000280030003a001a002200",
    {
      kind: "Job",
      apiVersion: "batch/v1",
      metadata: { name: "j" },
      spec: {
        template: {
          metadata: {},
          spec: {
            containers: [{ name: "j", image: "busybox", command: ["date"], resources: {} }],
            restartPolicy: "Never",
          },
        },
      },
      status: {},
    },
  ],
  [
    "create cronjob cj --image=busybox --schedule='*/1 * * * *' -- date",
    "6b3873000a130a0862617463682f7631120743726f6e4a6f6212a4010a120a02636a12001a0022002a00320038004200128b010a0b2a2f31202a202a202a202a1a002a7a0a120a02636a12001a0022002a00320038004200126432620a100a0012001a0022002a00320038004200124e12270a02636a120762757379626f781a04646174652a0042006a007200800100880100900100a201001a094f6e4661696c757265320042004a0052005800600068008201008a01009a0100c201001a001a002200",
    {
      kind: "CronJob",
      apiVersion: "batch/v1",
      metadata: { name: "cj" },
      spec: {
        schedule: "*/1 * * * *",
        jobTemplate: {
          metadata: { name: "cj" },
          spec: {
            template: {
              metadata: {},
              spec: {
                containers: [{ name: "cj", image: "busybox", command: ["date"], resources: {} }],
                restartPolicy: "OnFailure",
              },
            },
          },
        },
      },
      status: {},
    },
  ],
  [
    "create quota q --hard=cpu=1,memory=1Gi",
    "6b3873000a130a027631120d5265736f7572636551756f746112340a110a017112001a0022002a00320038004200121d0a0a0a0363707512030a01310a0f0a066d656d6f727912050a033147691a001a002200",
    {
      kind: "ResourceQuota",
      apiVersion: "v1",
      metadata: { name: "q" },
      spec: { hard: { cpu: "1", memory: "1Gi" } },
      status: {},
    },
  ],
  [
    "create pdb p --selector=a=b --min-available=50%",
    "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412360a110a017012001a0022002a0032003800420012150a09080110001a0335302512080a060a01611201621a0a080018002000280030001a002200",
    {
      kind: "PodDisruptionBudget",
      apiVersion: "policy/v1",
      metadata: { name: "p" },
      spec: { minAvailable: "50%", selector: { matchLabels: { a: "b" } } },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    },
  ],
  [
    "create rolebinding rb --role=r --user=u",
    "6b3873000a2b0a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f7631120b526f6c6542696e64696e6712620a120a02726212001a0022002a0032003800420012260a04557365721219726261632e617574686f72697a6174696f6e2e6b38732e696f1a017522001a240a19726261632e617574686f72697a6174696f6e2e6b38732e696f1204526f6c651a01721a002200",
    {
      kind: "RoleBinding",
      apiVersion: "rbac.authorization.k8s.io/v1",
      metadata: { name: "rb" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "u" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
    },
  ],
  [
    "create ingress i --rule=a/b=svc:80",
    "6b3873000a1f0a146e6574776f726b696e672e6b38732e696f2f76311207496e6772657373123e0a110a016912001a0022002a0032003800420012251a230a0161121e0a1c0a1a0a022f62120d220b0a0373766312040a0010501a0545786163741a020a001a002200",
    {
      kind: "Ingress",
      apiVersion: "networking.k8s.io/v1",
      metadata: { name: "i" },
      spec: {
        rules: [
          {
            host: "a",
            http: {
              paths: [
                {
                  path: "/b",
                  backend: { service: { name: "svc", port: { number: 80 } } },
                  pathType: "Exact",
                },
              ],
            },
          },
        ],
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    "create priorityclass pc --value=-5",
    "6b3873000a250a147363686564756c696e672e6b38732e696f2f7631120d5072696f72697479436c61737312390a120a02706312001a0022002a0032003800420010fbffffffffffffffff01180022002a14507265656d70744c6f7765725072696f726974791a002200",
    {
      kind: "PriorityClass",
      apiVersion: "scheduling.k8s.io/v1",
      metadata: { name: "pc" },
      value: -5,
      preemptionPolicy: "PreemptLowerPriority",
    },
  ],
  [
    "create sa x",
    "6b3873000a140a027631120e536572766963654163636f756e7412130a110a017812001a0022002a003200380042001a002200",
    { kind: "ServiceAccount", apiVersion: "v1", metadata: { name: "x" } },
  ],
  [
    "create token x --duration=1h",
    "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374121d0a100a0012001a0022002a00320038004200120320901c1a040a0012001a002200",
    {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      spec: { expirationSeconds: 3600 },
      status: { token: "" },
    },
  ],
  [
    "auth can-i get pods",
    "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a656374416363657373526576696577123c0a100a0012001a0022002a00320038004200121e0a1c0a0764656661756c7412036765741a0022002a04706f647332003a001a08080012001a0020001a002200",
    {
      kind: "SelfSubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec: { resourceAttributes: { namespace: "default", verb: "get", resource: "pods" } },
      status: { allowed: false },
    },
  ],
  [
    "auth whoami",
    "6b3873000a2d0a1861757468656e7469636174696f6e2e6b38732e696f2f7631121153656c665375626a656374526576696577121a0a100a0012001a0022002a0032003800420012060a040a0012001a002200",
    {
      kind: "SelfSubjectReview",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      status: { userInfo: {} },
    },
  ],
];

for (const [command, hex, expected] of BODIES) {
  test(`S1-PB-04, S1-PB-07: what ${JSON.stringify(`kubectl ${command}`)} sends is read, and written alike`, () => {
    const body = Buffer.from(hex, "hex");
    const decoded = codecs.decodeObject(body, { group: "", version: "v1", kind: "ConfigMap" });
    assert.deepEqual(decoded, expected);

    const { group, version } = parseGroupVersion(String(decoded.apiVersion)) ?? assert.fail();
    const kind = String(decoded.kind);
    const protobuf = codecs.forKind(group, version, kind) ?? assert.fail();
    assert.equal(protobuf.encodeObject(decoded).toString("hex"), hex);

    const objects = objectCodecs.forKind(group, version, kind) ?? assert.fail();
    const { object, unknownFields } = objects.decode(decoded);
    assert.deepEqual(unknownFields, []);
    const stored = parseJson(objects.encode(object));
    assert.equal(protobuf.encodeObject(stored).toString("hex"), hex, "from the stored form");
  });
}
