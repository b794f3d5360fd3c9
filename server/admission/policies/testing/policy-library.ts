/**
 * Realistic policies: the subjects of the admission policy documentation and of policy engines'
 * libraries, in our own words and expressions. Each comes with objects that it allows and refuses. All
 * writes are creates; `deny` marks the refused objects.
 */
import type { JsonObject } from "../../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../../api/naming.js";

export interface LibraryPolicy {
  readonly name: string;
  /** "apps/v1/deployments", or only the resource for core v1. */
  readonly resource: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly conditions?: Readonly<Record<string, string>>;
  readonly validations: readonly { readonly expression: string; readonly message?: string }[];
  readonly allow: readonly JsonObject[];
  readonly deny: readonly JsonObject[];
}

const { groupDomain } = createNaming(DEFAULT_VENDOR);
const NETWORKING = `networking.${groupDomain}`;
const RBAC = `rbac.authorization.${groupDomain}`;

const meta = (changes: JsonObject = {}): JsonObject => ({ name: "one", ...changes });
const labelled = (labels: JsonObject): JsonObject => ({ metadata: meta({ labels }) });
const annotated = (annotations: JsonObject): JsonObject => ({ metadata: meta({ annotations }) });

const container = (changes: JsonObject = {}): JsonObject => ({
  name: "main",
  image: "registry.example.com/app:1",
  ...changes,
});
const podSpec = (changes: JsonObject = {}): JsonObject => ({
  containers: [container()],
  ...changes,
});
const pod = (spec: JsonObject = {}): JsonObject => ({ metadata: meta(), spec: podSpec(spec) });
const podOf = (changes: JsonObject): JsonObject => pod({ containers: [container(changes)] });
const secured = (securityContext: JsonObject): JsonObject => podOf({ securityContext });

const deployment = (spec: JsonObject = {}, template: JsonObject = {}): JsonObject => ({
  metadata: meta(),
  spec: {
    selector: { matchLabels: { app: "a" } },
    template: { metadata: { labels: { app: "a" } }, spec: podSpec(template) },
    ...spec,
  },
});
const service = (spec: JsonObject = {}): JsonObject => ({
  metadata: meta(),
  spec: { ports: [{ name: "web", port: 80 }], ...spec },
});
const ingress = (host: string, spec: JsonObject = {}): JsonObject => ({
  metadata: meta(),
  spec: { rules: [{ host }], ...spec },
});
const configMap = (data: JsonObject): JsonObject => ({ metadata: meta(), data });
const is = (expression: string, message?: string) => [
  { expression, ...(message !== undefined && { message }) },
];

const ALL_CONTAINERS = {
  containers:
    "object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])",
};

export const POLICY_LIBRARY: readonly LibraryPolicy[] = [
  {
    name: "deployments have few replicas",
    resource: "apps/v1/deployments",
    validations: is("object.spec.replicas <= 5", "five replicas are enough"),
    allow: [deployment({ replicas: 5 }), deployment()],
    deny: [deployment({ replicas: 6 })],
  },
  {
    name: "deployments have more than one replica",
    resource: "apps/v1/deployments",
    conditions: { here: "request.namespace == 'default'" },
    validations: is("object.spec.replicas > 1"),
    allow: [deployment({ replicas: 2 })],
    deny: [deployment(), deployment({ replicas: 0 })],
  },
  {
    name: "images come from known registries",
    resource: "pods",
    variables: ALL_CONTAINERS,
    validations: is(
      "variables.containers.all(c, ['registry.example.com/', 'mirror.example.com/'].exists(r, c.image.startsWith(r)))",
    ),
    allow: [pod(), podOf({ image: "mirror.example.com/x:2" })],
    deny: [
      podOf({ image: "elsewhere.example.org/x:1" }),
      pod({ initContainers: [container({ name: "init", image: "busybox" })] }),
    ],
  },
  {
    name: "images name a version",
    resource: "pods",
    variables: ALL_CONTAINERS,
    validations: [
      { expression: "variables.containers.all(c, c.image.contains(':'))", message: "no tag" },
      { expression: "variables.containers.all(c, !c.image.endsWith(':latest'))" },
    ],
    allow: [pod()],
    deny: [podOf({ image: "registry.example.com/app" }), podOf({ image: "a:latest" })],
  },
  {
    name: "images are named by digest",
    resource: "pods",
    validations: is("object.spec.containers.all(c, c.image.matches('@sha256:[a-f0-9]{64}$'))"),
    allow: [podOf({ image: `a@sha256:${"0".repeat(64)}` })],
    deny: [pod(), podOf({ image: "a@sha256:abc" })],
  },
  {
    name: "objects have an owner's label",
    resource: "configmaps",
    validations: is("'owner' in object.metadata.?labels.orValue({})"),
    allow: [labelled({ owner: "me" })],
    deny: [labelled({}), { metadata: meta() }],
  },
  {
    name: "labels have values of a list",
    resource: "configmaps",
    validations: is(
      "has(object.metadata.labels) && object.metadata.labels[?'stage'].orValue('') in ['dev', 'test', 'prod']",
    ),
    allow: [labelled({ stage: "dev" })],
    deny: [labelled({ stage: "other" }), { metadata: meta() }],
  },
  {
    name: "annotations name a cost centre by pattern",
    resource: "configmaps",
    validations: is(
      "object.metadata.?annotations['cost-centre'].orValue('').matches('^[A-Z]{2}-[0-9]+$')",
    ),
    allow: [annotated({ "cost-centre": "AB-12" })],
    deny: [annotated({ "cost-centre": "12" }), { metadata: meta() }],
  },
  {
    name: "no privileged containers",
    resource: "pods",
    variables: ALL_CONTAINERS,
    validations: is("variables.containers.all(c, !c.?securityContext.privileged.orValue(false))"),
    allow: [pod(), secured({ privileged: false })],
    deny: [secured({ privileged: true })],
  },
  {
    name: "containers do not run as root",
    resource: "pods",
    validations: is(
      "object.spec.?securityContext.runAsNonRoot.orValue(false) || object.spec.containers.all(c, c.?securityContext.runAsNonRoot.orValue(false))",
    ),
    allow: [pod({ securityContext: { runAsNonRoot: true } }), secured({ runAsNonRoot: true })],
    deny: [pod(), secured({ runAsNonRoot: false })],
  },
  {
    name: "no escalation of privileges",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, has(c.securityContext) && has(c.securityContext.allowPrivilegeEscalation) && c.securityContext.allowPrivilegeEscalation == false)",
    ),
    allow: [secured({ allowPrivilegeEscalation: false })],
    deny: [pod(), secured({ allowPrivilegeEscalation: true })],
  },
  {
    name: "all capabilities are dropped",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, c.?securityContext.capabilities.drop.orValue([]).exists(d, d == 'ALL'))",
    ),
    allow: [secured({ capabilities: { drop: ["ALL"] } })],
    deny: [pod(), secured({ capabilities: { drop: ["NET_RAW"] } })],
  },
  {
    name: "added capabilities are known ones",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, c.?securityContext.capabilities.add.orValue([]).all(a, a in ['NET_BIND_SERVICE']))",
    ),
    allow: [pod(), secured({ capabilities: { add: ["NET_BIND_SERVICE"] } })],
    deny: [secured({ capabilities: { add: ["SYS_ADMIN"] } })],
  },
  {
    name: "root file systems are read only",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, c.?securityContext.readOnlyRootFilesystem.orValue(false))",
    ),
    allow: [secured({ readOnlyRootFilesystem: true })],
    deny: [pod()],
  },
  {
    name: "no namespaces of the host",
    resource: "pods",
    validations: is(
      "!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)",
    ),
    allow: [pod()],
    deny: [pod({ hostNetwork: true }), pod({ hostPID: true }), pod({ hostIPC: true })],
  },
  {
    name: "no ports of the host",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))",
    ),
    allow: [podOf({ ports: [{ containerPort: 80 }] })],
    deny: [podOf({ ports: [{ containerPort: 80, hostPort: 80 }] })],
  },
  {
    name: "no paths of the host",
    resource: "pods",
    validations: is("object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))"),
    allow: [pod({ volumes: [{ name: "v", emptyDir: {} }] })],
    deny: [pod({ volumes: [{ name: "v", hostPath: { path: "/" } }] })],
  },
  {
    name: "volumes are of known types",
    resource: "pods",
    validations: is(
      "object.spec.?volumes.orValue([]).all(v, ['emptyDir', 'configMap', 'secret', 'projected'].exists(t, t in v))",
    ),
    allow: [pod({ volumes: [{ name: "v", configMap: { name: "c" } }] })],
    deny: [pod({ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] })],
  },
  {
    name: "seccomp is the runtime's",
    resource: "pods",
    validations: is(
      "object.spec.?securityContext.seccompProfile.type.orValue('') in ['RuntimeDefault', 'Localhost']",
    ),
    allow: [pod({ securityContext: { seccompProfile: { type: "RuntimeDefault" } } })],
    deny: [pod(), pod({ securityContext: { seccompProfile: { type: "Unconfined" } } })],
  },
  {
    name: "sysctls are safe ones",
    resource: "pods",
    validations: is(
      "object.spec.?securityContext.sysctls.orValue([]).all(s, s.name in ['net.ipv4.tcp_syncookies'])",
    ),
    allow: [pod()],
    deny: [pod({ securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } })],
  },
  {
    name: "containers say what memory they may use",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
    ),
    allow: [podOf({ resources: { limits: { memory: "1Gi" } } })],
    deny: [pod(), podOf({ resources: { limits: { cpu: "1" } } })],
  },
  {
    name: "memory has a bound",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, quantity(c.?resources.limits['memory'].orValue('0')).isLessThan(quantity('2Gi')))",
    ),
    allow: [podOf({ resources: { limits: { memory: "1500Mi" } } })],
    deny: [podOf({ resources: { limits: { memory: "2Gi" } } })],
  },
  {
    name: "requests of cpu are half of the limit at least",
    resource: "pods",
    variables: {
      limited: "object.spec.containers.filter(c, 'cpu' in c.?resources.limits.orValue({}))",
    },
    validations: is(
      "variables.limited.all(c, quantity(c.resources.requests.cpu).add(quantity(c.resources.requests.cpu)).compareTo(quantity(c.resources.limits.cpu)) >= 0)",
    ),
    allow: [pod(), podOf({ resources: { limits: { cpu: "2" }, requests: { cpu: "1" } } })],
    deny: [podOf({ resources: { limits: { cpu: "2" }, requests: { cpu: "500m" } } })],
  },
  {
    name: "containers have probes",
    resource: "pods",
    validations: is("object.spec.containers.all(c, has(c.readinessProbe) && has(c.livenessProbe))"),
    allow: [
      podOf({
        readinessProbe: { tcpSocket: { port: 80 } },
        livenessProbe: { tcpSocket: { port: 80 } },
      }),
    ],
    deny: [pod(), podOf({ livenessProbe: { tcpSocket: { port: 80 } } })],
  },
  {
    name: "the default service account is for nobody",
    resource: "pods",
    validations: is("object.spec.?serviceAccountName.orValue('default') != 'default'"),
    allow: [pod({ serviceAccountName: "robot" })],
    deny: [pod(), pod({ serviceAccountName: "default" })],
  },
  {
    name: "tokens are mounted where somebody asks",
    resource: "pods",
    validations: is("has(object.spec.automountServiceAccountToken)"),
    allow: [pod({ automountServiceAccountToken: false })],
    deny: [pod()],
  },
  {
    name: "secrets do not come by environment variables",
    resource: "pods",
    validations: is(
      "object.spec.containers.all(c, c.?env.orValue([]).all(e, !has(e.valueFrom) || !has(e.valueFrom.secretKeyRef)))",
    ),
    allow: [podOf({ env: [{ name: "A", value: "b" }] })],
    deny: [podOf({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] })],
  },
  {
    name: "pods tolerate no control plane",
    resource: "pods",
    validations: is(
      "!object.spec.?tolerations.orValue([]).exists(t, t.?key.orValue('').endsWith('/control-plane'))",
    ),
    allow: [pod({ tolerations: [{ key: "spot", operator: "Exists" }] })],
    deny: [pod({ tolerations: [{ key: "node.example.com/control-plane", operator: "Exists" }] })],
  },
  {
    name: "pods choose no node by name",
    resource: "pods",
    validations: is("!has(object.spec.nodeName) || object.spec.nodeName == ''"),
    allow: [pod()],
    deny: [pod({ nodeName: "n1" })],
  },
  {
    name: "deployments spread their pods",
    resource: "apps/v1/deployments",
    validations: is(
      "object.spec.template.spec.?topologySpreadConstraints.orValue([]).exists(t, t.topologyKey.endsWith('/zone'))",
    ),
    allow: [
      deployment(
        {},
        {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "topology.example.com/zone",
              whenUnsatisfiable: "DoNotSchedule",
            },
          ],
        },
      ),
    ],
    deny: [deployment()],
  },
  {
    name: "selectors are the labels of the template",
    resource: "apps/v1/deployments",
    validations: is(
      "object.spec.selector.matchLabels.all(k, object.spec.template.metadata.labels[?k] == optional.of(object.spec.selector.matchLabels[k]))",
    ),
    allow: [deployment()],
    deny: [],
  },
  {
    name: "services are not load balancers",
    resource: "services",
    validations: is("object.spec.?type.orValue('ClusterIP') != 'LoadBalancer'"),
    allow: [service()],
    deny: [service({ type: "LoadBalancer" })],
  },
  {
    name: "services have no node ports",
    resource: "services",
    validations: is("object.spec.type != 'NodePort'"),
    allow: [service()],
    deny: [service({ type: "NodePort" })],
  },
  {
    name: "services have no external addresses",
    resource: "services",
    validations: is("size(object.spec.?externalIPs.orValue([])) == 0"),
    allow: [service()],
    deny: [service({ externalIPs: ["192.0.2.1"] })],
  },
  {
    name: "external addresses lie in a network",
    resource: "services",
    validations: is(
      "object.spec.?externalIPs.orValue([]).all(a, cidr('192.0.2.0/24').containsIP(ip(a)))",
    ),
    allow: [service({ externalIPs: ["192.0.2.7"] })],
    deny: [service({ externalIPs: ["198.51.100.7"] })],
  },
  {
    name: "ports have known names",
    resource: "services",
    validations: is(
      "object.spec.ports.all(p, p.?name.orValue('').matches('^(web|grpc|metrics)$'))",
    ),
    allow: [service()],
    deny: [service({ ports: [{ name: "other", port: 1 }] })],
  },
  {
    name: "hosts are below a domain and have no stars",
    resource: `${NETWORKING}/v1/ingresses`,
    validations: is(
      "object.spec.rules.all(r, r.host.endsWith('.apps.example.com') && !r.host.contains('*'))",
    ),
    allow: [ingress("a.apps.example.com")],
    deny: [ingress("a.example.org"), ingress("*.apps.example.com")],
  },
  {
    name: "hosts are served over TLS",
    resource: `${NETWORKING}/v1/ingresses`,
    variables: { secured: "object.spec.?tls.orValue([]).map(t, t.?hosts.orValue([])).flatten()" },
    validations: is("object.spec.rules.all(r, r.host in variables.secured)"),
    allow: [ingress("a.example.com", { tls: [{ hosts: ["a.example.com"] }] })],
    deny: [ingress("a.example.com"), ingress("a.example.com", { tls: [{ hosts: ["b.c"] }] })],
  },
  {
    name: "roles grant no stars",
    resource: `${RBAC}/v1/roles`,
    validations: is(
      "object.?rules.orValue([]).all(r, !('*' in r.verbs) && !('*' in r.?resources.orValue([])))",
    ),
    allow: [
      { metadata: meta(), rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
    ],
    deny: [{ metadata: meta(), rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["*"] }] }],
  },
  {
    name: "everybody is bound to nothing",
    resource: `${RBAC}/v1/rolebindings`,
    validations: is(
      "object.?subjects.orValue([]).all(s, !(s.name in ['system:anonymous', 'system:unauthenticated']))",
    ),
    allow: [
      {
        metadata: meta(),
        roleRef: { apiGroup: RBAC, kind: "Role", name: "r" },
        subjects: [{ kind: "User", apiGroup: RBAC, name: "jane" }],
      },
    ],
    deny: [
      {
        metadata: meta(),
        roleRef: { apiGroup: RBAC, kind: "Role", name: "r" },
        subjects: [{ kind: "Group", apiGroup: RBAC, name: "system:unauthenticated" }],
      },
    ],
  },
  {
    name: "config maps hold no passwords",
    resource: "configmaps",
    validations: is("!object.?data.orValue({}).exists(k, k.lowerAscii().contains('password'))"),
    allow: [configMap({ user: "a" })],
    deny: [configMap({ DB_PASSWORD: "b" })],
  },
  {
    name: "texts of config maps are addresses",
    resource: "configmaps",
    validations: is(
      "isURL(object.data.endpoint) && url(object.data.endpoint).getScheme() == 'https'",
    ),
    allow: [configMap({ endpoint: "https://a.example.com/b" })],
    deny: [configMap({ endpoint: "http://a.example.com" }), configMap({ endpoint: "x" })],
  },
  {
    name: "names follow a pattern",
    resource: "configmaps",
    validations: is("object.metadata.name.matches('^[a-z]+(-[a-z]+)*$')"),
    allow: [{ metadata: { name: "two-words" } }],
    deny: [{ metadata: { name: "word2" } }],
  },
  {
    name: "claims are small",
    resource: "persistentvolumeclaims",
    validations: is(
      "quantity(object.spec.resources.requests.storage).compareTo(quantity('10Gi')) <= 0",
    ),
    allow: [claim("10Gi")],
    deny: [claim("11Gi")],
  },
  {
    name: "cron jobs run no more often than hourly",
    resource: "batch/v1/cronjobs",
    validations: is("!object.spec.schedule.startsWith('*')"),
    allow: [cronJob("0 * * * *")],
    deny: [cronJob("* * * * *"), cronJob("*/5 * * * *")],
  },
];

function claim(storage: string): JsonObject {
  const resources = { requests: { storage } };
  return { metadata: meta(), spec: { accessModes: ["ReadWriteOnce"], resources } };
}

function cronJob(schedule: string): JsonObject {
  const template = { spec: { ...podSpec(), restartPolicy: "Never" } };
  return { metadata: meta(), spec: { schedule, jobTemplate: { spec: { template } } } };
}
