/** Attacks by what is rarely sent: strange types, reviews, subresources, definitions' values, upgrades, slow and odd connections. */
import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type Attack, type Attacker, NAMESPACE } from "./attack.js";

const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const MAPS = `${CORE}/configmaps`;
const MAP = `${MAPS}/many-0`;
const THINGS = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/things`;
const DRY = "?dryRun=All";
const STRICT = "?dryRun=All&fieldValidation=Strict";
const REVIEWS = "/apis/authorization.k8s.io/v1";

const meta = `"metadata":{"name":"x"}`;
const thing = `"apiVersion":"adversary.example.com/v1","kind":"Thing",${meta}`;
const items = (count: number, item: string | ((at: number) => string)) =>
  Array.from({ length: count }, (_, at) => (typeof item === "string" ? item : item(at))).join(",");
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

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

async function patchMap(attacker: Attacker, operations: readonly unknown[]): Promise<void> {
  await attacker.patch(MAP + DRY, "json-patch+json", JSON.stringify(operations));
}

const OTHERS: readonly Attack[] = [
  {
    name: "json patch: 10,000 moves to and fro in a list of 9,000",
    async run(attacker) {
      const list = numbers(9_000).map((at) => `f.com/${at}`);
      const moves = numbers(9_990).map((at) =>
        at % 2
          ? { op: "move", from: "/metadata/finalizers/0", path: "/metadata/finalizers/-" }
          : { op: "move", from: "/metadata/finalizers/8999", path: "/metadata/finalizers/0" },
      );
      await patchMap(attacker, [
        { op: "add", path: "/metadata/finalizers", value: list },
        ...moves,
      ]);
    },
  },
  {
    name: "json patch: 9,900 removals at the front of a list",
    async run(attacker) {
      const list = numbers(9_900).map((at) => `f.com/${at}`);
      const removals = numbers(9_900).map(() => ({ op: "remove", path: "/metadata/finalizers/0" }));
      await patchMap(attacker, [
        { op: "add", path: "/metadata/finalizers", value: list },
        ...removals,
      ]);
    },
  },
  {
    name: "json patch: 9,900 members added and removed",
    async run(attacker) {
      const operations = numbers(9_900).map((at) => ({
        op: at % 2 ? "remove" : "add",
        path: `/data/k${at >> 1}`,
        value: "v",
      }));
      await patchMap(attacker, operations);
    },
  },
  {
    name: "json patch: pointers of 30,000 escapes",
    run: (attacker) =>
      patchMap(
        attacker,
        numbers(40).map(() => ({ op: "add", path: `/data/${"~1".repeat(30_000)}`, value: "v" })),
      ),
  },
  {
    name: "merge patch: 1e400 deep in an object",
    run: (attacker) =>
      attacker.patch(`${THINGS}/none`, "merge-patch+json", '{"any":{"a":[1e400]}}').then(() => {}),
  },
  {
    name: "strategic merge: 14,000 containers by name, one after the other",
    async run(attacker) {
      const body = `{"metadata":{"name":"strategic"},"spec":{"containers":[{"name":"c","image":"i"}]}}`;
      await attacker.post(`${CORE}/pods`, body);
      const containers = numbers(14_000).map((at) => ({ name: `c${at}`, image: "i" }));
      await attacker.many(3, 3, () =>
        attacker.patch(
          `${CORE}/pods/strategic${DRY}`,
          "strategic-merge-patch+json",
          JSON.stringify({ spec: { initContainers: containers } }),
        ),
      );
    },
  },
  {
    name: "strategic merge: a pod of 9,000 variables changed at each",
    async run(attacker) {
      const env = numbers(9_000).map((at) => ({ name: `E${at}`, value: "a" }));
      await attacker.post(`${CORE}/podtemplates`, "{}");
      await attacker.post(
        `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
        JSON.stringify({
          metadata: { name: "wide" },
          spec: {
            replicas: 0,
            selector: { matchLabels: { a: "b" } },
            template: {
              metadata: { labels: { a: "b" } },
              spec: { containers: [{ name: "c", image: "i", env }] },
            },
          },
        }),
      );
      const other = env.map(({ name }) => ({ name, value: "b" }));
      const body = JSON.stringify({
        spec: { template: { spec: { containers: [{ name: "c", env: other }] } } },
      });
      await attacker.many(4, 2, () =>
        attacker.patch(
          `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/wide`,
          "strategic-merge-patch+json",
          body,
        ),
      );
    },
  },
  {
    name: "apply: 9,000 variables, forced from ten managers",
    async run(attacker) {
      for (const at of numbers(10)) {
        const env = numbers(9_000).map((n) => ({ name: `E${n}`, value: `${at}` }));
        const body = {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "forced" },
          spec: {
            replicas: 0,
            selector: { matchLabels: { a: "b" } },
            template: {
              metadata: { labels: { a: "b" } },
              spec: { containers: [{ name: "c", image: "i", env }] },
            },
          },
        };
        await attacker.patch(
          `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/forced?force=true&fieldManager=m${at}`,
          "apply-patch+yaml",
          JSON.stringify(body),
        );
      }
    },
  },
  {
    name: "apply: shrinks and grows a list of 20,000",
    async run(attacker) {
      for (const at of numbers(6)) {
        const finalizers = numbers(at % 2 ? 1 : 20_000).map((n) => `e.com/f${n}`);
        const body = {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "breathes", finalizers },
        };
        await attacker.patch(
          `${MAPS}/breathes${DRY.replace("dryRun=All", "")}&force=true&fieldManager=m`,
          "apply-patch+yaml",
          JSON.stringify(body),
        );
      }
    },
  },
  {
    name: "updates of a custom object with 59,000 values, ten managers",
    async run(attacker) {
      await attacker.post(
        THINGS,
        `{"apiVersion":"adversary.example.com/v1","kind":"Thing","metadata":{"name":"big"},"any":{"a":0}}`,
      );
      for (const at of numbers(10)) {
        const any = Object.fromEntries(numbers(20_000).map((n) => [`k${n}`, at]));
        await attacker.send(`${THINGS}/big?fieldManager=u${at}`, {
          method: "PATCH",
          body: JSON.stringify({ any }),
          headers: { "content-type": "application/merge-patch+json" },
        });
      }
    },
  },
  {
    name: "lists of large objects as Tables",
    async run(attacker) {
      const data = { text: "z".repeat(900_000) };
      for (const at of numbers(12))
        await attacker.post(MAPS, JSON.stringify({ metadata: { name: `large-${at}` }, data }));
      await attacker.many(60, 30, (at) =>
        attacker.send(MAPS, {
          headers: {
            accept:
              at % 2
                ? "application/json;as=Table;v=v1;g=meta.k8s.io"
                : "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
          },
        }),
      );
    },
  },
  {
    name: "lists of large objects in all encodings",
    run: (attacker) =>
      attacker.many(90, 30, (at) =>
        attacker.send(MAPS, {
          headers: {
            accept:
              [
                "application/json",
                "application/yaml",
                "application/cbor",
                "application/vnd.kubernetes.protobuf",
              ][at % 4] ?? "",
            "accept-encoding": at % 3 ? "gzip" : "",
          },
        }),
      ),
  },
  {
    name: "an object of 900 KB as YAML, 200 times",
    run: (attacker) =>
      attacker.many(200, 40, () =>
        attacker.send(`${MAPS}/large-1`, { headers: { accept: "application/yaml" } }),
      ),
  },
  {
    name: "watches from old revisions of large objects",
    run: (attacker) =>
      attacker.many(100, 50, () =>
        attacker.send(`${MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1`),
      ),
  },
  {
    name: "200 watches as Tables beside writes of large objects",
    async run(attacker) {
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const body = JSON.stringify({ data: { text: "w".repeat(800_000) } });
      await Promise.all([
        attacker.many(200, 200, () =>
          attacker.send(`${MAPS}?watch=1&timeoutSeconds=3`, { headers }),
        ),
        attacker.many(6, 1, () => attacker.patch(`${MAPS}/large-1`, "merge-patch+json", body)),
      ]);
    },
  },
  {
    name: "deletion of all objects, dry run, ten at a time",
    run: (attacker) => attacker.many(20, 10, () => attacker.send(MAPS + DRY, { method: "DELETE" })),
  },
  {
    name: "2,000 objects made and deleted together",
    async run(attacker) {
      await attacker.many(2_000, 100, (at) =>
        attacker.post(`${CORE}/secrets`, `{"metadata":{"name":"s${at}"},"stringData":{"a":"b"}}`),
      );
      await attacker.send(`${CORE}/secrets`, { method: "DELETE" });
    },
  },
  {
    name: "selectors of 3,000 sets",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(
          `${MAPS}?labelSelector=${encodeURIComponent(
            numbers(2_500)
              .map((at) => `k${at} in (a,b)`)
              .join(","),
          )}`,
        ),
      ),
  },
  {
    name: "a selector of 60,000 brackets",
    run: (attacker) =>
      attacker.many(60, 20, () => attacker.send(`${MAPS}?labelSelector=${"(".repeat(60_000)}`)),
  },
  {
    name: "a field selector of 60,000 backslashes",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(`${MAPS}?fieldSelector=metadata.name=${"%5C".repeat(20_000)}`),
      ),
  },
  {
    name: "percent signs, 20,000 of them",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(`${MAPS}?a=${"%25".repeat(20_000)}&${"%".repeat(1_000)}`),
      ),
  },
  {
    name: "continue tokens that say much",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(
          `${MAPS}?limit=1&continue=${Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start: "a".repeat(40_000) })).toString("base64url")}`,
        ),
      ),
  },
  {
    name: "headers of 100 KB, 400 times",
    run: (attacker) =>
      attacker.many(400, 40, () =>
        attacker.send(MAPS, {
          headers: Object.fromEntries(numbers(400).map((at) => [`x-h${at}`, "v".repeat(200)])),
        }),
      ),
  },
  {
    name: "accepts 5,000 types",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            accept: numbers(5_000)
              .map((at) => `a/b${at};q=0.${at % 10}`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "accepts 5,000 codings",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            "accept-encoding": numbers(8_000)
              .map((at) => `c${at};q=0.1`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "impersonates with 400 groups",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            "impersonate-user": "u".repeat(10_000),
            "impersonate-group": numbers(400)
              .map((at) => `g${at}`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "exec and port-forward upgrades",
    run: (attacker) =>
      attacker.many(200, 40, (at) =>
        attacker.send(
          `${CORE}/pods/none/${["exec", "attach", "portforward"][at % 3]}?${"command=a&".repeat(5_000)}`,
          {
            headers: {
              connection: "Upgrade",
              upgrade: at % 2 ? "SPDY/3.1" : "websocket",
              "sec-websocket-version": "13",
              "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
            },
          },
        ),
      ),
  },
  {
    name: "watches over websockets, frames of noise",
    run: (attacker) =>
      attacker.many(30, 30, () =>
        raw(
          attacker,
          `GET ${MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
          Buffer.alloc(64_000, 0x89),
        ),
      ),
  },
  {
    name: "http/1.1: a thousand requests in a pipeline",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(
          attacker,
          "",
          Buffer.from(
            `GET ${MAPS}?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\n\r\n`.repeat(
              40,
            ),
          ),
        ),
      ),
  },
  {
    name: "http/1.1: a pipeline of nobody",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, "", Buffer.from(`GET ${MAPS} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(900))),
      ),
  },
  {
    name: "http/1.1: chunks of one byte",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, chunked(attacker), Buffer.from("1\r\n \r\n".repeat(10_000))),
      ),
  },
  {
    name: "http/1.1: chunks with extensions",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, chunked(attacker), Buffer.from(`1;${"e".repeat(10_000)}\r\n \r\n`.repeat(6))),
      ),
  },
  {
    name: "http/1.1: trailers without end",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(
          attacker,
          `${chunked(attacker)}2\r\n{}\r\n0\r\n`,
          Buffer.from("a: b\r\n".repeat(10_000)),
        ),
      ),
  },
  {
    name: "http/1.1: headers, a byte at a time",
    run: (attacker) => attacker.many(200, 200, () => drip(attacker)),
  },
  {
    name: "bodies that say gzip",
    run: (attacker) =>
      attacker.many(20, 10, () =>
        attacker.send(MAPS, {
          method: "POST",
          body: Buffer.alloc(2_900_000, 0x1f),
          headers: { "content-type": "application/json", "content-encoding": "gzip" },
        }),
      ),
  },
  {
    name: "nobody asks for everything",
    run: (attacker) =>
      attacker.many(600, 60, (at) =>
        attacker.client
          .request(
            [
              "/openapi/v2",
              "/openapi/v3",
              "/api",
              "/apis",
              "/version",
              "/healthz?verbose",
              "/metrics",
            ][at % 7] ?? "/",
          )
          .catch(() => {}),
      ),
  },
  {
    name: "discovery in all forms, 300 times",
    run: (attacker) =>
      attacker.many(300, 60, (at) =>
        attacker.send(["/api", "/apis", "/openapi/v3", "/apis/apps/v1"][at % 4] ?? "/", {
          headers: {
            accept:
              at % 2
                ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
                : "*/*",
            "accept-encoding": "gzip",
          },
        }),
      ),
  },
  {
    name: "bodies of nobody",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(MAPS, {
          method: "POST",
          body: Buffer.alloc(2_900_000, 0x20),
          headers: { "content-type": "application/json", authorization: "" },
        }),
      ),
  },
];

const chunked = ({ token }: Attacker) =>
  `POST ${MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

async function openHttp1({ client }: Attacker): Promise<TLSSocket> {
  const { hostname, port } = new URL(client.url);
  const socket = connectTls({ host: hostname, port: Number(port), ca: client.credentials.ca });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket.resume();
}

/** Sends the head, then the piece again and again for a second and a half. */
async function raw(attacker: Attacker, head: string, piece: Buffer): Promise<void> {
  const socket = await openHttp1(attacker);
  socket.write(head);
  const endMs = performance.now() + 1_500;
  while (performance.now() < endMs && !socket.destroyed) {
    if (socket.write(piece)) await new Promise(setImmediate);
    else
      await Promise.race([
        once(socket, "drain").catch(() => {}),
        once(socket, "close").catch(() => {}),
        new Promise((resolve) => setTimeout(resolve, 1_500)),
      ]);
  }
  socket.destroy();
}

async function drip(attacker: Attacker): Promise<void> {
  const socket = await openHttp1(attacker);
  for (const letter of "GET /api HTTP/1.1\r\nHost: a\r\nX: ".repeat(2)) {
    socket.write(letter);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  socket.destroy();
}

export const STRAY_ATTACKS: readonly Attack[] = [
  ...STRAYS.map(
    ({ name, path, body, type = "application/json", method = "POST" }): Attack => ({
      name: `stray: ${name}`,
      run: async (attacker) => {
        const made = body();
        const headers = { "content-type": type };
        await attacker.many(3, 3, () => attacker.send(path, { method, body: made, headers }));
      },
    }),
  ),
  ...OTHERS.map((attack) => ({ ...attack, name: `stray: ${attack.name}` })),
];
