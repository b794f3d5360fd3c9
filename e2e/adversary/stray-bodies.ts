/** Attacks by bodies that are rarely sent: strange texts and types, reviews, subresources, values of definitions. */
import { type Attack, NAMESPACE } from "./attack.js";
import { CORE, DRY, MAP, MAPS, meta, numbers, THINGS } from "./stray-places.js";

const STRICT = "?dryRun=All&fieldValidation=Strict";
const REVIEWS = "/apis/authorization.k8s.io/v1";
const thing = `"apiVersion":"adversary.example.com/v1","kind":"Thing",${meta}`;
const items = (count: number, item: string | ((at: number) => string)) =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join(",");

interface Stray {
  readonly name: string;
  readonly path: string;
  readonly body: () => string | Uint8Array;
  readonly type?: string;
  readonly method?: string;
}

const pod = (more: string) => `{${meta},"spec":{"containers":[{"name":"c","image":"i"${more}}]}}`;

const STRAYS: readonly Stray[] = [
  {
    name: "strict: 50,000 unknown fields",
    path: MAPS + STRICT,
    body: () => `{${meta},${items(50_000, (at) => `"u${at}":1`)}}`,
  },
  {
    name: "strict: 25,000 equal keys",
    path: MAPS + STRICT,
    body: () => `{${meta},"data":{${items(25_000, '"a":"b"')}}}`,
  },
  {
    name: "strict: 19,000 unknown fields of 19,000 items",
    path: `${CORE}/pods${STRICT}`,
    body: () => `{${meta},"spec":{"containers":[${items(19_000, '{"name":"c","u":1}')}]}}`,
  },
  {
    name: "surrogates without their other half",
    path: MAPS + DRY,
    body: () => `{${meta},"data":{"k":"${"\\ud800".repeat(400_000)}"}}`,
  },
  {
    name: "20,000 keys with surrogates",
    path: MAPS + DRY,
    body: () => `{${meta},"data":{${items(20_000, (at) => `"\\ud83d${at}":"v"`)}}}`,
  },
  {
    name: "3 MB of bytes that are no UTF-8",
    path: MAPS + DRY,
    body: () =>
      Buffer.concat([
        Buffer.from(`{${meta},"data":{"k":"`),
        Buffer.alloc(2_900_000, 0xff),
        Buffer.from('"}}'),
      ]),
  },
  {
    name: "3 MB of white space",
    path: MAPS + DRY,
    body: () => `{${" \n\t".repeat(990_000)}${meta}}`,
  },
  {
    name: "50,000 numbers of 50 digits",
    path: THINGS + DRY,
    body: () => `{${thing},"any":{"a":[${items(50_000, "1".repeat(50))}]}}`,
  },
  {
    name: "50,000 numbers with exponents",
    path: THINGS + DRY,
    body: () => `{${thing},"any":{"a":[${items(50_000, "1.5e300")}]}}`,
  },
  {
    name: "a fraction of a million digits",
    path: THINGS + DRY,
    body: () => `{${thing},"any":{"n":0.${"3".repeat(1_000_000)}}}`,
  },
  {
    name: "20,000 values of an enum that is none",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      `{${meta},"spec":{"containers":[${items(9_000, '{"name":"c","image":"i","imagePullPolicy":"no","terminationMessagePolicy":"no"}')}]}}`,
  },
  {
    name: "19,000 resources of a container",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`,"resources":{"limits":{${items(19_000, (at) => `"e.com/r${at}":"${at}"`)}}}`),
  },
  {
    name: "19,000 quantities with many digits",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      pod(
        `,"resources":{"limits":{${items(19_000, (at) => `"e.com/r${at}":"0.${"1".repeat(60)}"`)}}}`,
      ),
  },
  {
    name: "a rules review",
    path: `${REVIEWS}/selfsubjectrulesreviews`,
    body: () => `{"spec":{"namespace":"${NAMESPACE}"},"x":[${items(50_000, "1")}]}`,
  },
  {
    name: "an access review with 50,000 requirements",
    path: `${REVIEWS}/selfsubjectaccessreviews`,
    body: () =>
      `{"spec":{"resourceAttributes":{"verb":"list","resource":"pods","labelSelector":{"requirements":[${items(14_000, (at) => `{"key":"k${at}","operator":"In","values":["a"]}`)}]}}}}`,
  },
  {
    name: "an access review with a raw selector of 2 MB",
    path: `${REVIEWS}/selfsubjectaccessreviews`,
    body: () =>
      `{"spec":{"resourceAttributes":{"verb":"list","resource":"pods","fieldSelector":{"rawSelector":"${"a=b,".repeat(500_000)}"}}}}`,
  },
  {
    name: "an access review with extra of 29,000 keys",
    path: `${REVIEWS}/selfsubjectaccessreviews`,
    body: () =>
      `{"spec":{"extra":{${items(19_000, (at) => `"k${at}":["v"]`)}},"nonResourceAttributes":{"path":"/","verb":"get"}}}`,
  },
  {
    name: "a token request for 50,000 audiences",
    path: `${CORE}/serviceaccounts/user/token`,
    body: () => `{"spec":{"audiences":[${items(50_000, (at) => `"a${at}"`)}]}}`,
  },
  {
    name: "an Event of 3 MB",
    path: `${CORE}/events${DRY}`,
    body: () =>
      `{"metadata":{"name":"x"},"involvedObject":{"namespace":"${NAMESPACE}"},"message":"${"m".repeat(2_900_000)}"}`,
  },
  {
    name: "a Lease with 2 MB of holder",
    path: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases${DRY}`,
    body: () => `{${meta},"spec":{"holderIdentity":"${"h".repeat(2_900_000)}"}}`,
  },
  {
    name: "a pod whose volume has a path of 500,000 slashes",
    path: `${CORE}/pods${DRY}`,
    body: () =>
      `{${meta},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","secret":{"secretName":"s","items":[{"key":"k","path":"a${"/".repeat(500_000)}x"}]}}]}}`,
  },
  {
    name: "a Service with 55,000 ranges of IPv6",
    path: `${CORE}/services${DRY}`,
    body: () =>
      `{${meta},"spec":{"type":"LoadBalancer","ports":[{"port":80}],"loadBalancerSourceRanges":[${items(55_000, (at) => `"fd00::${at.toString(16)}/128"`)}]}}`,
  },
  {
    name: "a claim with 32 expressions of 10 KiB",
    path: `/apis/resource.k8s.io/v1/namespaces/${NAMESPACE}/resourceclaims${DRY}`,
    body: () =>
      `{${meta},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[${items(32, (at) => `{"cel":{"expression":"${`${at} < 1 || `.repeat(900)}true"}}`)}]}}]}}}`,
  },
  {
    name: "a claim with nested expressions",
    path: `/apis/resource.k8s.io/v1/namespaces/${NAMESPACE}/resourceclaims${DRY}`,
    body: () =>
      `{${meta},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[${items(32, (at) => `{"cel":{"expression":"${"(".repeat(3_000)}${at}==1${")".repeat(3_000)}"}}`)}]}}]}}}`,
  },
  {
    name: "a claim with parameters of 3 MB",
    path: `/apis/resource.k8s.io/v1/namespaces/${NAMESPACE}/resourceclaims${DRY}`,
    body: () =>
      `{${meta},"spec":{"devices":{"config":[{"opaque":{"driver":"a.b","parameters":{"a":[${items(59_000, "1")}]}}}]}}}`,
  },
  {
    name: "a Job with 19,000 template labels",
    path: `/apis/batch/v1/namespaces/${NAMESPACE}/jobs${DRY}`,
    body: () =>
      `{${meta},"spec":{"template":{"metadata":{"labels":{${items(19_000, (at) => `"l${at}":"v"`)}}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`,
  },
  {
    name: "a StatefulSet with 9,000 claims",
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets${DRY}`,
    body: () =>
      `{${meta},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"volumeClaimTemplates":[${items(5_000, (at) => `{"metadata":{"name":"v${at}"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)}]}}`,
  },
  {
    name: "a CronJob with schedules of 1 MB",
    path: `/apis/batch/v1/namespaces/${NAMESPACE}/cronjobs${DRY}`,
    body: () =>
      `{${meta},"spec":{"schedule":"${"1,".repeat(500_000)}1 * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`,
  },
  {
    name: "an autoscaler with 9,000 metrics",
    path: `/apis/autoscaling/v2/namespaces/${NAMESPACE}/horizontalpodautoscalers${DRY}`,
    body: () =>
      `{${meta},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"metrics":[${items(7_000, '{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5}}}')}]}}`,
  },
  {
    name: "the same autoscaler in version 1",
    path: `/apis/autoscaling/v1/namespaces/${NAMESPACE}/horizontalpodautoscalers${DRY}`,
    body: () =>
      `{"metadata":{"name":"x","annotations":{"autoscaling.alpha.kubernetes.io/metrics":${JSON.stringify(`[${items(9_000, '{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":5}}')}]`)}}},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}}`,
  },
  {
    name: "a disruption budget with 19,000 requirements",
    path: `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets${DRY}`,
    body: () =>
      `{${meta},"spec":{"minAvailable":1,"selector":{"matchExpressions":[${items(14_000, (at) => `{"key":"k${at}","operator":"In","values":["a"]}`)}]}}}`,
  },
  {
    name: "an Ingress with 14,000 certificates",
    path: `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/ingresses${DRY}`,
    body: () =>
      `{${meta},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":1}}},"tls":[${items(14_000, (at) => `{"hosts":["h${at}.e"],"secretName":"s"}`)}]}}`,
  },
  {
    name: "a Deployment in protobuf that says nothing",
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments${DRY}`,
    type: "application/vnd.kubernetes.protobuf",
    body: () => Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(2_900_000, 0x0a)]),
  },
  {
    name: "protobuf: groups in groups",
    path: MAPS + DRY,
    type: "application/vnd.kubernetes.protobuf",
    body: () => Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(2_900_000, 0x0b)]),
  },
  {
    name: "protobuf: a raw object of 1,400,000 messages",
    path: MAPS + DRY,
    type: "application/vnd.kubernetes.protobuf",
    body: () => unknownOf(Buffer.alloc(2_800_000, Buffer.from([0x12, 0x00]))),
  },
  {
    name: "protobuf: 1,400,000 labels",
    path: MAPS + DRY,
    type: "application/vnd.kubernetes.protobuf",
    body: () => unknownOf(nested(0x0a, Buffer.alloc(2_700_000, Buffer.from([0x5a, 0x00])))),
  },
  {
    name: "yaml: 50,000 documents",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () => "---\na: b\n".repeat(50_000),
  },
  {
    name: "yaml: 100,000 question marks",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () => "? ".repeat(100_000),
  },
  {
    name: "yaml: 100,000 tags",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () =>
      numbers(100_000)
        .map((at) => `k${at}: !t${at} v\n`)
        .join(""),
  },
  {
    name: "yaml: 200,000 comments",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () => `${"# c\n".repeat(700_000)}a: b`,
  },
  {
    name: "yaml: a million spaces before a colon",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () => `a${" ".repeat(2_000_000)}: b`,
  },
  {
    name: "yaml: merge keys",
    path: MAPS + DRY,
    type: "application/yaml",
    body: () =>
      `a: &a {x: y}\n${numbers(20_000)
        .map((at) => `b${at}: {<<: *a}\n`)
        .join("")}`,
  },
  {
    name: "a Role of a hundred million permissions",
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles${DRY}`,
    body: () => {
      const names = (letter: string) => items(100, (at) => `"${letter}${at}"`);
      return `{${meta},"rules":[{"verbs":[${names("v")}],"apiGroups":[${names("g")}],"resources":[${names("r")}],"resourceNames":[${names("n")}]}]}`;
    },
  },
  {
    name: "a name of 2.8 MB",
    path: MAPS + DRY,
    body: () => `{"metadata":{"name":"${"n.".repeat(1_400_000)}"}}`,
  },
  {
    name: "a time of 2.9 MB",
    path: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases${DRY}`,
    body: () => `{${meta},"spec":{"renewTime":"2020-01-01T00:00:00.${"0".repeat(2_900_000)}Z"}}`,
  },
  {
    name: "values of control characters that are none of an enum",
    path: `${CORE}/pods${DRY}`,
    body: () => pod(`,"imagePullPolicy":"${"\\u0001".repeat(400_000)}"`),
  },
  {
    name: "a Secret of 20,000 certificates that only begin",
    path: `${CORE}/secrets${DRY}`,
    body: () => {
      const begun = "-----BEGIN CERTIFICATE-----\n".repeat(20_000);
      const text = Buffer.from(begun).toString("base64");
      return `{${meta},"type":"kubernetes.io/tls","data":{"tls.crt":"${text}","tls.key":"${text}"}}`;
    },
  },
  {
    name: "options of a deletion of 3 MB",
    path: MAP + DRY,
    method: "DELETE",
    body: () => `{"dryRun":["All"],"x":[${items(59_000, "1")}]}`,
  },
  {
    name: "a scale with 59,000 unknown values",
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/none/scale${STRICT}`,
    method: "PUT",
    body: () => `{"metadata":{"name":"none"},"spec":{"replicas":1},"x":[${items(59_000, "1")}]}`,
  },
  {
    name: "an eviction with 59,000 values",
    path: `${CORE}/pods/none/eviction`,
    body: () => `{"metadata":{"name":"none"},"x":[${items(59_000, "1")}]}`,
  },
];

/** A runtime.Unknown with the raw object. */
function unknownOf(raw: Buffer): Buffer {
  return Buffer.concat([Buffer.from("k8s\0"), nested(0x12, raw)]);
}

function nested(tag: number, payload: Buffer): Buffer {
  const length: number[] = [];
  for (let left = payload.length; ; left >>>= 7) {
    if (left < 128) {
      length.push(left);
      break;
    }
    length.push((left & 127) | 128);
  }
  return Buffer.concat([Buffer.from([tag, ...length]), payload]);
}

export const STRAY_BODIES: readonly Attack[] = STRAYS.map(
  ({ name, path, body, type = "application/json", method = "POST" }): Attack => ({
    name,
    run: async (attacker) => {
      const made = body();
      const headers = { "content-type": type };
      await attacker.many(3, 3, () => attacker.send(path, { method, body: made, headers }));
    },
  }),
);
