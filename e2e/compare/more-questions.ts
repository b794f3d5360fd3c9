/**
 * Questions that changes of single fields do not ask: annotations with rules, resizes, values that are wrong beside
 * each other, and objects of a custom kind. All are dry runs.
 */
import { DEFINITIONS, definitionOf, versionOf } from "../fixtures/definitions.js";
import type { Json } from "./one-change.js";
import type { Question } from "./question.js";

const NAMESPACE = "verbs";
const DRY = "dryRun=All";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const GROUP = "compare.example.test";
const NUMBERS = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/numbers`;
const MERGE = "application/merge-patch+json";

/** The definition of the custom kind, and one object of it. */
export const CUSTOM_FURNITURE: readonly Question[] = [
  {
    method: "POST",
    path: DEFINITIONS,
    body: definitionOf(`numbers.${GROUP}`, "Number", {
      versions: [versionOf(schema() as object, { subresources: { status: {} } })],
    }) as unknown as Json,
  },
];

function schema(): Json {
  const item = { type: "object", required: ["k"], properties: { k: { type: "string" } } };
  const properties = {
    whole: { type: "integer" },
    small: { type: "integer", format: "int32", maximum: 7 },
    any: { type: "number" },
    text: { type: "string", maxLength: 5, pattern: "^a" },
    length: { type: "string", format: "duration" },
    either: { "x-kubernetes-int-or-string": true },
    keyed: {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    },
    set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    whatever: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  const spec = {
    type: "object",
    properties,
    "x-kubernetes-validations": [{ rule: "!has(self.whole) || self.whole != 13", message: "no" }],
  };
  const status = { type: "object", properties: { count: { type: "integer", minimum: 3 } } };
  return { type: "object", properties: { spec, status } };
}

/** Each with a value that is right and some that are not. */
const ANNOTATIONS: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/config.mirror": ["x"],
  "controller.kubernetes.io/pod-deletion-cost": ["-5", "+1", "01", "", "2147483648"],
  "scheduler.alpha.kubernetes.io/tolerations": ["[]", "x", "{}", '[{"operator":"bad"}]'],
  "seccomp.security.alpha.kubernetes.io/pod": ["runtime/default", "bad", "localhost/../x"],
  "container.seccomp.security.alpha.kubernetes.io/c": ["unconfined", "bad"],
  "container.apparmor.security.beta.kubernetes.io/c": ["localhost/x", "localhost/", "bad"],
  "container.apparmor.security.beta.kubernetes.io/other": ["runtime/default"],
  "pod.beta.kubernetes.io/init-containers": ["[]"],
};

export function annotations(): Question[] {
  const spec = { containers: [{ name: "c", image: "i" }] };
  return Object.entries(ANNOTATIONS).flatMap(([key, values]) =>
    values.flatMap((value) => {
      const metadata = { name: "annotated", annotations: { [key]: value } };
      const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
      const template = { metadata: { annotations: { [key]: value } }, spec };
      const ofPods = { apiVersion: "v1", kind: "PodTemplate", metadata: { name: "x" }, template };
      const patch = { metadata: { annotations: { [key]: value } } };
      return [
        { method: "POST", path: `${PODS}?${DRY}`, body: pod },
        {
          method: "POST",
          path: `/api/v1/namespaces/${NAMESPACE}/podtemplates?${DRY}`,
          body: ofPods,
        },
        { method: "PATCH", path: `${PODS}/subject?${DRY}`, body: patch, type: MERGE },
        { method: "PATCH", path: `${PODS}/subject/status?${DRY}`, body: patch, type: MERGE },
      ];
    }),
  );
}

/** Rules of two fields: what each may be alone, and not beside the other. */
const BESIDE: readonly Json[] = [
  { hostUsers: false, hostNetwork: true },
  { hostnameOverride: "a", setHostnameAsFQDN: true },
  { nodeName: "n", schedulingGates: [{ name: "a" }] },
  { resources: { limits: { cpu: "1" } }, os: { name: "windows" } },
  { tolerations: [{ key: "a", operator: "Exists", value: "x" }] },
  { tolerations: [{ key: "a", tolerationSeconds: 1 }] },
  { resourceClaims: [{ name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" }] },
  { securityContext: { windowsOptions: {} }, os: { name: "linux" } },
  { dnsPolicy: "None" },
  { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } },
  { resources: { requests: { cpu: "3" } } },
  { hostAliases: [{ ip: "01.2.3.4" }] },
];

export function pairsOfFields(): Question[] {
  return BESIDE.map((spec) => ({
    method: "POST",
    path: `${PODS}?${DRY}`,
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "beside" },
      spec: { containers: [{ name: "c", image: "i" }], ...spec },
    },
  }));
}

const RESIZES: readonly ((spec: Json, main: Json) => Json)[] = [
  (spec) => ({ ...spec, resources: { limits: { cpu: "3" } } }),
  (spec) => ({ ...spec, containers: [] }),
  (spec, main) => ({ ...spec, containers: [main, { name: "other", image: "i" }] }),
  (spec, main) => ({ ...spec, containers: [{ ...main, name: "renamed" }] }),
  (spec, main) => ({ ...spec, containers: [{ ...main, image: "other" }] }),
  (spec, main) => ({ ...spec, containers: [{ ...main, resources: { limits: { cpu: "1" } } }] }),
  (spec, main) => {
    const resizePolicy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
    return { ...spec, containers: [{ ...main, resizePolicy }] };
  },
];

export function resizes(): Question[] {
  return RESIZES.map((change) => ({
    method: "PUT",
    path: `${PODS}/subject/resize?${DRY}`,
    edit: (stored: Json) => {
      const spec = stored.spec as Json;
      const [main = {}] = spec.containers as Json[];
      return { ...stored, spec: change(spec, main) };
    },
  }));
}

/** Texts of values, as JSON has them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  whole: ["9007199254740993", "9223372036854775808", "1.0", "1e3", "1.5", '"1"', "13", "null"],
  small: ["7", "8", "2147483648"],
  any: ["1e400", "0.1", "9007199254740993"],
  text: ['"abc"', '"b"', '"abcdefg"', "1"],
  length: ['"1.5d"', '"PT1H"', '"1h"', '""'],
  either: ["1", '"1"', "1.5", "true"],
  keyed: ['[{"k":"a"},{"k":"a"}]', "[{}]", "{}", "[null]"],
  set: ['["a","a"]', '["a","b"]'],
  whatever: ['{"a":{"b":1.0}}', "[]"],
  unknown: ["1"],
};

export function customObjects(): Question[] {
  const head = `"apiVersion":"${GROUP}/v1","kind":"Number","metadata":{"name":"x"}`;
  const creates = Object.entries(VALUES).flatMap(([field, texts]) =>
    texts.map((text) => `{${head},"spec":{"${field}":${text}}}`),
  );
  const odd = [
    "{}",
    "[]",
    `{"kind":"Number","metadata":{"name":"x"}}`,
    `{"apiVersion":"${GROUP}/v1","kind":"Other","metadata":{"name":"x"}}`,
    `{"apiVersion":"${GROUP}/v2","kind":"Number","metadata":{"name":"x"}}`,
    `{${head},"spec":5}`,
  ];
  return [
    ...[...creates, ...odd].map((body) => ({ method: "POST", path: `${NUMBERS}?${DRY}`, body })),
    { method: "GET", path: `${NUMBERS}/nobody` },
    { method: "POST", path: `/apis/${GROUP}/v1/namespaces/nowhere/numbers`, body: `{${head}}` },
  ];
}
