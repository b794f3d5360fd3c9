/** Values of the chart, each rendered: what they become, and the sentence where they cannot work. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import { CONTROLLERS } from "../../server/controllers/controller-names.js";
import {
  CHART,
  HELMS_OF_SLOW_TESTS,
  missingHelm,
  type Rendered,
  renderChart,
  runHelm,
  toSetFlags,
  type Values,
} from "./chart.js";

import { findLooseEnds } from "./join-up.js";
import { toTree } from "./render-many.js";

const BUNDLED = { "etcd.bundled.enabled": true };
const skip = await missingHelm("helm-4");

/** Mistakes that are made together, so that one rendering says all of them; in each line what one sentence says. */
const REFUSED: readonly { readonly values: Values; readonly said: readonly RegExp[] }[] = [
  {
    values: {
      fullnameOverride: "1st",
      commonLabels: { "app.kubernetes.io/name": "mine" },
      "image.repository": "registry:5000/keelson:1.0",
      "rollout.maxSurge": 0,
      "rollout.maxUnavailable": "0%",
      "autoscaling.enabled": true,
      "autoscaling.minReplicas": 12,
      "podDisruptionBudget.maxUnavailable": 0,
      "server.extraFlags": { "secure-port": 7443, "--v": 2 },
      "server.extraEnv": [{ name: "POD_IP", value: "x" }],
      "server.extraVolumeMounts": [{ name: "nobody", mountPath: "/x" }],
      "server.auditLogPath": "/var/log/audit",
      "etcd.endpoints": ["etcd-0:2379", "http://etcd-1:2380"],
      "etcd.tls.secretName": "tls",
      "etcd.auth.username": "u",
      "etcd.prefix": "registry",
      "networkPolicy.enabled": true,
      "redis.url": "redis:1234",
      "redis.caSecretName": "ca",
      "service.externalTrafficPolicy": "Local",
      "service.nodePort": 30_000,
      "service.loadBalancerClass": "lb",
      "service.ipFamilies": ["IPv6", "IPv4"],
      "ingress.enabled": true,
      "ingress.host": "https://x",
      "gateway.enabled": true,
      "gateway.parentRefs": [],
      "certificates.secretName": "mine",
      "certificates.extraNames": ["https://x"],
      "server.serviceClusterIPRange": "10.0.0.0",
      "serviceAccountKeys.verificationKeys": ["old.pub"],
      "configuration.authorization": "a",
      "configuration.authorizationModes": ["Webhook"],
      "configuration.authorizationPolicy": "p",
      "configuration.existingSecret": "s",
      "monitoring.token": "t",
      "monitoring.tokenSecretName": "s",
      heapMegabytes: 2048,
    },
    said: [
      /^the name 1st is no name of a Service/,
      /^commonLabels: app\.kubernetes\.io\/name is set by the chart/,
      /^image\.repository: .* has a tag or a digest/,
      /^rollout\.maxSurge and .* no replica could ever be replaced/,
      /^autoscaling\.minReplicas is above autoscaling\.maxReplicas/,
      /^podDisruptionBudget\.maxUnavailable is 0: no drain/,
      /^server\.extraFlags: --secure-port is set by the chart/,
      /^server\.extraFlags: "--v" is no flag's name/,
      /^server\.extraEnv: POD_IP is set by the chart/,
      /^server\.extraVolumeMounts: no volume .* the name "nobody"/,
      /^server\.auditLogPath: .* is in no volume/,
      /^etcd\.endpoints: "etcd-0:2379" is not http:\/\/host:port/,
      /^etcd\.tls\.secretName: "http:\/\/etcd-1:2380" .* is without TLS/,
      /^networkPolicy\.etcdPort is 2379, so nothing would come to http:\/\/etcd-1:2380/,
      /^etcd\.auth\.username needs etcd\.auth\.passwordSecretName/,
      /^etcd\.prefix: "registry" does not begin with/,
      /^redis\.url: "redis:1234" is not redis:/,
      /^redis\.caSecretName is for a redis\.url that begins with rediss/,
      /^networkPolicy\.redisPort is 6379, so nothing would come to redis:1234/,
      /^service\.externalTrafficPolicy is for the types NodePort and LoadBalancer/,
      /^service\.nodePort is for the types NodePort and LoadBalancer/,
      /^service\.loadBalancerClass is for the type LoadBalancer/,
      /^service\.ipFamilies has two, for which service\.ipFamilyPolicy/,
      /^server\.bindAddress: on 0\.0\.0\.0 nothing comes over IPv6/,
      /^ingress\.host: "https:\/\/x" is no host name/,
      /^gateway\.parentRefs is needed/,
      /^certificates\.secretName is for certificates\.source=secret/,
      /^certificates\.extraNames: "https:\/\/x" is neither/,
      /^server\.serviceClusterIPRange: "10\.0\.0\.0" is no block/,
      /^serviceAccountKeys\.verificationKeys needs/,
      /^configuration\.authorization and .*: only one of them/,
      /^configuration\.authorizationModes: Webhook needs configuration\.authorizationWebhook/,
      /^configuration\.authorizationPolicy needs ABAC/,
      /^configuration\.existingSecret needs configuration\.existingSecretFiles/,
      /^configuration\.authorization: with configuration\.existingSecret it would be in no file/,
      /^configuration\.authorizationPolicy: with configuration\.existingSecret/,
      /^monitoring\.token and monitoring\.tokenSecretName: only one of them/,
      /^monitoring\.token: .* the replicas would not know it/,
      /^heapMegabytes is not below resources\.limits\.memory/,
    ],
  },
  {
    values: {
      ...BUNDLED,
      "etcd.endpoints": ["http://etcd:2379"],
      "etcd.auth.passwordSecretName": "p",
      "redis.bundled.enabled": true,
      "redis.url": "rediss://redis",
      "controllers.separate": false,
      "controllers.extraFlags": { "etcd-servers": "x" },
      "autoscaling.enabled": true,
      "resources.requests": { cpu: null },
      "service.ipFamilyPolicy": "SingleStack",
      "service.ipFamilies": ["IPv4", "IPv6"],
      "server.bindAddress": "::",
      "certificates.source": "certManager",
      "certificates.certManager.issuerRef.name": "issuer",
      "certificates.certManager.renewBefore": "2160h",
      "configuration.existingSecretFiles": ["tracing"],
      heapMegabytes: 1,
      "server.extraEnv": [{ name: "NODE_OPTIONS", value: "x" }],
    },
    said: [
      /^etcd\.endpoints is for an etcd of your own, and etcd\.bundled\.enabled brings one/,
      /^etcd\.auth\.passwordSecretName needs etcd\.auth\.username/,
      /^redis\.url is for a Redis of your own/,
      /^controllers\.extraFlags: --etcd-servers is set by the chart/,
      /^controllers\.extraFlags is for controllers\.separate=true/,
      /^autoscaling aims at a share of resources\.requests\.cpu, which is not set/,
      /^service\.ipFamilies has two, and service\.ipFamilyPolicy is SingleStack/,
      /^certificates\.certManager\.renewBefore is not shorter/,
      /^configuration\.existingSecretFiles needs configuration\.existingSecret/,
      /^server\.extraEnv: NODE_OPTIONS is set by the chart/,
    ],
  },
  {
    values: { ...BUNDLED, "redis.passwordSecretName": "p" },
    said: [/^redis\.passwordSecretName needs redis\.url/],
  },
  {
    values: {
      ...BUNDLED,
      "service.labels": { "app.kubernetes.io/component": "mine" },
      "monitoring.podMonitors.labels": { "helm.sh/chart": "mine" },
      podAnnotations: { "keelson.dev/configuration": "mine" },
      "server.bindAddress": "127.0.0.1",
      "server.extraFlags": { "feature-gates": { A: true }, "some-list": [["x"]] },
      "server.extraVolumes": [{ name: "tmp", emptyDir: {} }],
      "server.extraVolumeMounts": [{ name: "tmp", mountPath: "/var/lib/keelson/" }],
      "server.serviceClusterIPRange": "10.0.0.256/24,10.1.0.0/33,fd00::/129,fd00:::/112",
      "service.ipFamilyPolicy": "PreferDualStack",
      "certificates.extraNames": [
        "a.example.com:6443",
        "[2001:db8::1]",
        "",
        "192.0.2.1",
        "2001:db8::1",
        "*.a.b",
      ],
      "monitoring.token": "a,b",
      "resources.requests": { cpu: "1500m", memory: "4Gi" },
      "resources.limits": { cpu: 1.5, memory: "4G" },
      "controllers.resources": { requests: { cpu: 2 }, limits: { cpu: "1999m" } },
      heapMegabytes: 4000,
    },
    said: [
      /^service\.labels: app\.kubernetes\.io\/component is set by the chart/,
      /^monitoring\.podMonitors\.labels: helm\.sh\/chart is set by the chart/,
      /^podAnnotations: keelson\.dev\/configuration is set by the chart/,
      /^server\.bindAddress: nothing from outside of the pod comes to "127\.0\.0\.1"/,
      /^server\.extraFlags: --feature-gates is neither a value nor a list of values/,
      /^server\.extraFlags: --some-list is neither a value nor a list of values/,
      /^server\.extraVolumes: the chart has a volume "tmp"/,
      /^server\.extraVolumeMounts: the chart mounts a volume at "\/var\/lib\/keelson"/,
      /^server\.serviceClusterIPRange: "10\.0\.0\.256\/24" is no block/,
      /^server\.serviceClusterIPRange: "10\.1\.0\.0\/33" is no block/,
      /^server\.serviceClusterIPRange: "fd00::\/129" is no block/,
      /^server\.serviceClusterIPRange: "fd00:::\/112" is no block/,
      /^server\.serviceClusterIPRange: .* has two blocks of one family/,
      /^server\.bindAddress: on 127\.0\.0\.1 nothing comes over IPv6/,
      /^certificates\.extraNames: "a\.example\.com:6443" is neither/,
      /^certificates\.extraNames: "\[2001:db8::1\]" is neither/,
      /^certificates\.extraNames: "" is neither/,
      /^monitoring\.token has characters that no token of a request has/,
      /^resources\.requests\.memory is above resources\.limits\.memory: no pod/,
      /^controllers\.resources\.requests\.cpu is above controllers\.resources\.limits\.cpu: no pod/,
      /^heapMegabytes is not below resources\.limits\.memory/,
    ],
  },
  {
    // Each but those at the end has bits beyond its length.
    values: {
      ...BUNDLED,
      "server.serviceClusterIPRange":
        "10.96.0.5/12,10.112.0.0/11,10.0.0.1/0,fd00::5/112,fd00::180/120,fd00:0:0:1::/63,10.96.0.0/12,fd00::100/120,fd00:0:0:2::/63,::/0,0.0.0.0/0",
      "controlPlanes.domain": "example.com",
    },
    said: [
      /^server\.serviceClusterIPRange: "10\.96\.0\.5\/12" is no block, as its address is longer than \/12/,
      /^server\.serviceClusterIPRange: "10\.112\.0\.0\/11" is no block/,
      /^server\.serviceClusterIPRange: "10\.0\.0\.1\/0" is no block/,
      /^server\.serviceClusterIPRange: "fd00::5\/112" is no block/,
      /^server\.serviceClusterIPRange: "fd00::180\/120" is no block/,
      /^server\.serviceClusterIPRange: "fd00:0:0:1::\/63" is no block/,
      /^server\.serviceClusterIPRange: .* has two blocks of one family/,
      /^controlPlanes\.domain is for controlPlanes\.enabled=true/,
    ],
  },
  {
    values: {
      "etcd.endpoints": ["https://etcd", "https://[fd00::1]:2379", "https://etcd:2379/"],
      "redis.url": "redis://redis",
      "networkPolicy.enabled": true,
      "networkPolicy.redisPort": 7000,
      "ingress.enabled": true,
      "ingress.host": "10.0.0.1",
      "gateway.enabled": true,
      "gateway.hostnames": ["10.0.0.2", "*.example.com"],
      "certificates.source": "certManager",
      "certificates.certManager.issuerRef.name": "issuer",
      "certificates.certManager.duration": "30m",
      "certificates.certManager.renewBefore": "0.5h0s",
      "server.bindAddress": "10.0.0.999",
      "server.serviceClusterIPRange": "10.0.0.0/24,10.1.0.0/24",
      "serviceAccountKeys.issuer": "https://x y",
    },
    said: [
      /^networkPolicy\.etcdPort is 2379, so nothing would come to https:\/\/etcd$/,
      /^networkPolicy\.redisPort is 7000, so nothing would come to redis:\/\/redis/,
      /^ingress\.host: "10\.0\.0\.1" is an address/,
      /^gateway\.hostnames: "10\.0\.0\.2" is an address/,
      /^certificates\.certManager\.renewBefore is not shorter/,
      /^certificates\.certManager\.duration is below one hour/,
      /^server\.bindAddress: "10\.0\.0\.999" is no address/,
      /^server\.serviceClusterIPRange: "10\.0\.0\.0\/24,10\.1\.0\.0\/24" has two blocks of one family/,
      /^serviceAccountKeys\.issuer: "https:\/\/x y" is neither a URL nor a name/,
    ],
  },
  {
    values: {
      "etcd.endpoints": [
        "https://user@etcd:2379",
        "https://etcd:2379/path",
        "https://fd00::1:2379",
      ],
      "certificates.source": "certManager",
      "certificates.certManager.issuerRef.name": "issuer",
      "certificates.certManager.renewBefore": "4m59s",
    },
    said: [
      /^etcd\.endpoints: "https:\/\/user@etcd:2379" is not http:/,
      /^etcd\.endpoints: "https:\/\/etcd:2379\/path" is not http:/,
      /^etcd\.endpoints: "https:\/\/fd00::1:2379" is not http:/,
      /^certificates\.certManager\.renewBefore is below five minutes/,
    ],
  },
  {
    values: { ...BUNDLED, "server.bindAddress": "keelson.example.com" },
    said: [/^server\.bindAddress: "keelson\.example\.com" is no address/],
  },
  {
    values: {
      ...BUNDLED,
      "rollout.maxUnavailable": "101%",
      "server.extraVolumes": ["one", "one"].map((name) => ({ name, emptyDir: {} })),
    },
    said: [/^rollout\.maxUnavailable is above 100%/, /^server\.extraVolumes: two have .* "one"/],
  },
];

for (const helm of HELMS_OF_SLOW_TESTS) {
  test(`P13: values that cannot work are refused when they are rendered, all that is wrong at once (${helm})`, {
    skip: await missingHelm(helm),
  }, async () => {
    for (const { values, said } of REFUSED) {
      const { code, stderr } = await runHelm(helm, [
        "template",
        "demo",
        CHART,
        ...toSetFlags(values),
      ]);
      assert.notEqual(code, 0);
      const sentences = [...stderr.matchAll(/^- (.*)$/gm)].map(([, sentence = ""]) => sentence);
      for (const expected of said) {
        assert.equal(
          sentences.filter((one) => expected.test(one)).length,
          1,
          `${expected}: ${stderr}`,
        );
      }
      assert.equal(sentences.length, said.length, stderr);
    }
  });
}

test("P13: a certificate of cert-manager has the first address of each block, wherever it begins", {
  skip,
}, async () => {
  for (const [block, first] of [
    ["10.96.0.0/12", "10.96.0.1"],
    ["10.0.0.8/29", "10.0.0.9"],
    ["fd00::/112", "fd00::1"],
    ["fd00:0:0:0:0:0:0:0/112", "fd00:0:0:0:0:0:0:1"],
    ["fd00::100/120", "fd00::101"],
    ["fd00::F0/124", "fd00::f1"],
  ] as const) {
    const objects = await renderChart("helm-4", {
      ...BUNDLED,
      "server.serviceClusterIPRange": block,
      "certificates.source": "certManager",
      "certificates.certManager.issuerRef.name": "own",
    });
    const certificate = objects.find(({ kind }) => kind === "Certificate");
    assert.deepEqual(certificate?.spec.ipAddresses, ["127.0.0.1", first], block);
  }
});

test("values of a wrong form are refused by the schema", async () => {
  const schema = JSON.parse(await readFile(join(CHART, "values.schema.json"), "utf8"));
  // Helm asks with all defaults in their places.
  const { required: _, ...ofSome } = schema;
  const isTaken = new Ajv({ strict: false, allowUnionTypes: true }).compile(ofSome);
  const wrong: Values = {
    nameOverride: "Upper",
    fullnameOverride: "a.b",
    "image.digest": "latest",
    "image.tag": "a:b",
    "image.repository": "",
    "service.ipFamilyPolicy": "Both",
    "service.port": 0,
    "etcd.bundled.clusterState": "old",
    "etcd.bundled.storageSize": "8 GB",
    "probes.periodSeconds": 0,
    "autoscaling.minReplicas": 0,
    "rollout.maxSurge": "25",
    "backup.schedule": "daily",
    "certificates.job.renewalSchedule": "* * *",
    "certificates.certManager.duration": "90d",
    "configuration.authorizationModes": ["rbac"],
    "monitoring.serviceMonitor.interval": "15",
    "redis.bundled.maxMemory": "64Mi",
    "server.extraEnv": [{ value: "x" }],
    "controllers.loops": ["*", "-nothere"],
    "controlPlanes.domain": "https://example.com",
    "gateway.hostnames": ["https://example.com"],
    "server.vendor": "Acme Inc",
    "server.maxRequestsInflight": 1_000_001,
    "serviceAccountKeys.secretName": "Upper",
    "serviceAccountKeys.signingKey": "a/b",
    "backup.storageClassName": "a b",
    clusterDomain: "a b",
    commonLabels: { team: "a b" },
    podLabels: { team: "x".repeat(64) },
    nodeSelector: { pool: "a/b" },
    podSecurityContext: { runAsUser: "1000" },
    "service.annotations": { "a/b/c": "x" },
    "service.loadBalancerClass": "a b",
    "service.loadBalancerSourceRanges": ["10.0.0.1"],
    resources: { requests: { memory: "1GB" } },
    tolerations: [{ operator: "Equal", value: "x" }],
    affinity: { nodeAfinity: {} },
    extraObjects: [{ kind: "ConfigMap" }],
    "server.extraVolumes": [{ name: "A_b", emptyDir: {} }],
  };
  assert.ok(!isTaken(toTree({ tolerations: [{ key: "a", value: 1 }] })));
  assert.ok(isTaken(toTree({ tolerations: [{ operator: "Exists" }, { key: "a", value: "1" }] })));
  assert.ok(!isTaken(toTree({ "controllers.loops": [] })));
  assert.ok(!isTaken(toTree({ "server.extraEnv": [{ name: "X", value: 1 }] })));
  assert.ok(!isTaken(toTree({ "controlPlanes.domain": "example.com." })));
  for (const loop of Object.keys(CONTROLLERS)) {
    assert.ok(isTaken(toTree({ "controllers.loops": [loop, `-${loop}`] })), loop);
  }
  assert.ok(isTaken(toTree({ "controlPlanes.domain": "planes.example.com:8443" })));
  for (const [path, value] of Object.entries(wrong)) {
    assert.ok(!isTaken(toTree({ [path]: value })), path);
  }
  assert.ok(isTaken({}));
});

test("P13: a percentage is no zero, and two releases have no object in common", {
  skip,
}, async () => {
  const values: Values = {
    ...BUNDLED,
    "rollout.maxSurge": "25%",
    "monitoring.dashboards.enabled": true,
  };
  const [one, other, elsewhere] = await Promise.all([
    renderChart("helm-4", values, { release: "one" }),
    renderChart("helm-4", values, { release: "other" }),
    renderChart("helm-4", values, { release: "one", namespace: "elsewhere" }),
  ]);
  assert.equal(find(one, "Deployment", "one-keelson").spec.strategy.rollingUpdate.maxSurge, "25%");
  const keys = (objects: readonly Rendered[]) =>
    objects.map(({ kind, metadata }) => `${metadata.namespace}/${kind}/${metadata.name}`);
  const taken = new Set(keys(one));
  for (const objects of [other, elsewhere]) {
    assert.deepEqual(
      keys(objects).filter((key) => taken.has(key)),
      [],
    );
  }
  // Nor does a selector of one find a pod of the other.
  assert.deepEqual(
    findLooseEnds([...one, ...other], { secrets: [] }).filter((text) => /selects/.test(text)),
    [],
  );
});

test("P13: every container says what it needs, so that a quota lets it in", { skip }, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "redis.bundled.enabled": true,
    "backup.enabled": true,
    "certificates.source": "job",
  });
  let count = 0;
  for (const { kind, metadata, spec } of objects) {
    const template = (spec?.jobTemplate?.spec ?? spec)?.template;
    const pod = kind === "Pod" ? spec : template?.spec;
    for (const container of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]) {
      const { requests } = container.resources ?? {};
      assert.ok(requests?.cpu && requests.memory, `${kind}/${metadata.name}: ${container.name}`);
      // The restricted Pod Security level.
      assert.equal(pod.securityContext.runAsNonRoot, true);
      assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.deepEqual(container.securityContext.capabilities.drop, ["ALL"]);
      count++;
    }
  }
  assert.equal(count, 8);
});

test("P13: a Service has both families, labels and the client's address; etcd and loops listen on both", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "server.bindAddress": "::",
    "etcd.bundled.clusterState": "existing",
    "service.type": "LoadBalancer",
    "service.labels": { team: "platform" },
    "service.ipFamilyPolicy": "RequireDualStack",
    "service.ipFamilies": ["IPv6", "IPv4"],
    "service.externalTrafficPolicy": "Local",
    "service.loadBalancerClass": "example.com/lb",
  });
  const { metadata, spec } = find(objects, "Service", "demo-keelson");
  assert.equal(metadata.labels?.team, "platform");
  const { ipFamilyPolicy, ipFamilies, externalTrafficPolicy, loadBalancerClass } = spec;
  assert.deepEqual(
    { ipFamilyPolicy, ipFamilies, externalTrafficPolicy, loadBalancerClass },
    {
      ipFamilyPolicy: "RequireDualStack",
      ipFamilies: ["IPv6", "IPv4"],
      externalTrafficPolicy: "Local",
      loadBalancerClass: "example.com/lb",
    },
  );
  const argsOf = (kind: string, name: string): string[] =>
    find(objects, kind, name).spec.template.spec.containers[0].args;
  const member = argsOf("StatefulSet", "demo-keelson-etcd");
  assert.ok(member.includes("--listen-client-urls=http://[::]:2379"));
  assert.ok(member.includes("--initial-cluster-state=existing"));
  const loops = argsOf("Deployment", "demo-keelson-controllers");
  assert.ok(loops.includes("--metrics-bind-address=[::]:10257"));
});

test("P13: labels of one object win over those of all, and no key is written twice", {
  skip,
}, async () => {
  const labels = { team: "its", "other/one": "x" };
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    commonLabels: { team: "all", cost: "centre" },
    podLabels: labels,
    "controllers.podLabels": labels,
    "service.labels": labels,
    ...Object.fromEntries(
      ["serviceMonitor", "podMonitors", "prometheusRule", "dashboards"].flatMap((name) => [
        [`monitoring.${name}.enabled`, true],
        [`monitoring.${name}.labels`, labels],
      ]),
    ),
    "monitoring.serviceMonitor.insecureSkipVerify": true,
  });
  const labelled = objects.flatMap(({ kind, metadata, spec }) => {
    if (/Monitor$|^PrometheusRule$|^ConfigMap$/.test(kind)) return [metadata.labels];
    if (kind === "Service" && metadata.name === "demo-keelson") return [metadata.labels];
    return kind === "Deployment" ? [spec.template.metadata.labels] : [];
  });
  assert.ok(labelled.length >= 8, `${labelled.length}`);
  for (const of of labelled) {
    assert.deepEqual([of?.team, of?.["other/one"], of?.cost], ["its", "x", "centre"]);
  }
});

test("P13: a flag that a later file sets to null is not given; families of the Service are listened on", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "server.bindAddress": "$(POD_IP)",
    "server.extraFlags": { "watch-cache-bytes": null, "some-list": [], "is-on": true },
    "service.ipFamilies": ["IPv6"],
  });
  const text = JSON.stringify(find(objects, "Deployment", "demo-keelson"));
  assert.doesNotMatch(text, /watch-cache-bytes|some-list/);
  assert.match(text, /--is-on=true/);
  assert.match(
    JSON.stringify(find(objects, "Deployment", "demo-keelson-controllers")),
    /--metrics-bind-address=\[::\]:10257/,
  );
});

test("P13: a map that a file of values sets to null is empty", { skip }, async () => {
  const maps = [
    ...["resources", "controllers.resources", "tests.resources", "backup.resources"],
    ...["commonLabels", "podLabels", "podAnnotations", "service.labels", "server.extraFlags"],
  ];
  const nulls = [...maps, "etcd.bundled.resources.limits"].map((path) => `${path}=null`);
  const args = ["template", "demo", CHART, "--set", [...nulls, "etcd.bundled.enabled=true"].join()];
  const { code, stderr } = await runHelm("helm-4", args);
  assert.equal(code, 0, stderr);
});

test("P13: policies let in who the chart itself sends: backups to etcd, the test to the API", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "networkPolicy.enabled": true,
    "networkPolicy.clients": [{ podSelector: { matchLabels: { app: "mine" } } }],
    "backup.enabled": true,
  });
  const comesTo = (name: string, port: string) =>
    find(objects, "NetworkPolicy", name)
      .spec.ingress.filter(({ ports }: { ports: { port: string }[] }) =>
        ports.some((one) => one.port === port),
      )
      .flatMap(({ from = [] }) => from)
      .map(({ podSelector: { matchLabels } }: { podSelector: Rendered["x"] }) =>
        String(matchLabels.app ?? matchLabels["app.kubernetes.io/component"]),
      )
      .sort();
  assert.deepEqual(comesTo("demo-keelson-server", "https"), ["mine", "test"]);
  assert.deepEqual(comesTo("demo-keelson-etcd", "client"), [
    "backup",
    "controllers",
    "etcd",
    "server",
  ]);
});

test("P13: the loops mount no key of the replicas, and further objects are rendered", {
  skip,
}, async () => {
  const objects = await renderChart("helm-4", {
    ...BUNDLED,
    "certificates.source": "job",
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "{{ .Release.Name }}-more" } },
    ],
  });
  find(objects, "ConfigMap", "demo-more");
  const { volumes } = find(objects, "Deployment", "demo-keelson-controllers").spec.template.spec;
  const tls = volumes.find(({ name }: { name: string }) => name === "tls");
  assert.deepEqual(tls.secret.items, [{ key: "ca.crt", path: "ca.crt" }]);
});

test("P6: every graph of the dashboard is of the releases that are chosen", async () => {
  const text = await readFile(join(CHART, "files", "dashboards", "keelson.json"), "utf8");
  const { panels, templating } = JSON.parse(text);
  const names = templating.list.map(({ name }: { name: string }) => name);
  assert.deepEqual(names, ["datasource", "namespace", "release", "instance"]);
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const [selectors, chosen] = [
        /\{job="/g,
        /namespace=~"\$namespace", release=~"\$release"/g,
      ].map((pattern) => [...expr.matchAll(pattern)].length);
      assert.equal(chosen, selectors, `${title}: ${expr}`);
    }
  }
});

function find(objects: readonly Rendered[], kind: string, name: string): Rendered {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind}/${name}`);
  return found;
}
