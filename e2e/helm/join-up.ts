/**
 * Whether the objects of a release join up: what one names, another has. Labels that select pods, ports
 * by name, volumes and their mounts, Secrets and their keys, service accounts, roles, scale targets.
 */
import type { Rendered } from "./chart.js";

export interface Outside {
  /** Secrets that the person who installs has made, which no template renders. */
  readonly secrets: readonly string[];
}

interface Pods {
  readonly owner: Rendered;
  readonly labels: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: a pod's spec as the template gives it
  readonly spec: any;
}

/** Complaints, one line each; none when all is well. */
export function findLooseEnds(objects: readonly Rendered[], outside: Outside): string[] {
  const complaints: string[] = [];
  const complain = (object: Rendered, text: string) =>
    complaints.push(`${object.kind}/${object.metadata.name}: ${text}`);
  const pods = objects.flatMap(podsOf);
  checkUnique(objects, complain);
  for (const object of objects) checkSelector(object, pods, objects, complain);
  for (const each of pods) checkPods(each, objects, outside, complain);
  for (const object of objects) checkReferences(object, objects, complain);
  return complaints;
}

type Complain = (object: Rendered, text: string) => void;

const has = (objects: readonly Rendered[], kind: string, name: string) =>
  objects.some((object) => object.kind === kind && object.metadata.name === name);

function podsOf(owner: Rendered): Pods[] {
  if (owner.kind === "Pod")
    return [{ owner, labels: owner.metadata.labels ?? {}, spec: owner.spec }];
  const template = (owner.spec?.jobTemplate?.spec ?? owner.spec)?.template;
  if (template?.spec?.containers === undefined) return [];
  return [{ owner, labels: template.metadata?.labels ?? {}, spec: template.spec }];
}

function checkUnique(objects: readonly Rendered[], complain: Complain): void {
  const seen = new Set<string>();
  for (const object of objects) {
    const key = `${object.apiVersion} ${object.kind} ${object.metadata.name}`;
    if (seen.has(key)) complain(object, "rendered twice");
    seen.add(key);
    if (object.metadata.namespace !== "keelson") complain(object, "not in the release's namespace");
    for (const label of ["app.kubernetes.io/instance", "app.kubernetes.io/managed-by"]) {
      if (object.metadata.labels?.[label] === undefined) complain(object, `has no label ${label}`);
    }
  }
}

function selects(selector: Readonly<Record<string, string>>, { labels }: Pods): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** Each selector finds the pods of one component, and only of one. */
function checkSelector(
  object: Rendered,
  pods: readonly Pods[],
  objects: readonly Rendered[],
  complain: Complain,
): void {
  const selector =
    object.kind === "Service" ? object.spec.selector : object.spec?.selector?.matchLabels;
  if (object.kind === "ServiceMonitor") {
    const services = objects.filter(({ kind }) => kind === "Service");
    const found = services.filter(({ metadata }) =>
      Object.entries(selector).every(([key, value]) => metadata.labels?.[key] === value),
    );
    if (found.length !== 1) complain(object, `selects ${found.length} services`);
    return;
  }
  const own = podsOf(object)[0];
  if (selector !== undefined) {
    const found = pods.filter((each) => selects(selector, each));
    if (found.length !== 1) complain(object, `selects the pods of ${found.length} objects`);
    if (own !== undefined && !selects(selector, own))
      complain(object, "does not select its own pods");
    if (object.kind === "Service") checkPorts(object, found[0], complain);
  }
  if (object.kind === "NetworkPolicy") {
    const all = [...(object.spec.ingress ?? []), ...(object.spec.egress ?? [])];
    const peers = all.flatMap((rule) => [...(rule.from ?? []), ...(rule.to ?? [])]);
    for (const labels of [object.spec.podSelector, ...peers.map((peer) => peer.podSelector)]) {
      if (labels === undefined) continue;
      if (!pods.some((each) => selects(labels.matchLabels, each)))
        complain(object, "selects nothing");
    }
  }
}

function checkPorts(service: Rendered, pods: Pods | undefined, complain: Complain): void {
  const names = (pods?.spec.containers ?? []).flatMap(portNames);
  for (const { targetPort } of service.spec.ports) {
    if (!names.includes(targetPort)) complain(service, `no container has a port ${targetPort}`);
  }
}

function portNames({
  ports = [],
}: {
  readonly ports?: readonly { readonly name: string }[];
}): string[] {
  return ports.map(({ name }) => name);
}

function checkPods(
  { owner, spec }: Pods,
  objects: readonly Rendered[],
  outside: Outside,
  complain: Complain,
): void {
  const volumes = new Set<string>();
  for (const volume of spec.volumes ?? []) {
    volumes.add(volume.name);
    const secret = volume.secret?.secretName;
    const isMade =
      secret === undefined ||
      has(objects, "Secret", secret) ||
      outside.secrets.includes(secret) ||
      objects.some(({ kind, spec: of }) => kind === "Certificate" && of.secretName === secret) ||
      objects.some(
        (object) => object.kind === "Job" && JSON.stringify(object).includes(`"${secret}"`),
      );
    if (!isMade) complain(owner, `nobody makes the Secret ${secret}`);
  }
  for (const { metadata } of owner.spec?.volumeClaimTemplates ?? []) volumes.add(metadata.name);
  const account = spec.serviceAccountName;
  if (account !== undefined && account !== "default" && !has(objects, "ServiceAccount", account)) {
    complain(owner, `there is no service account ${account}`);
  }
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const mounted = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(nameOf));
  for (const name of volumes) {
    if (!mounted.includes(name)) complain(owner, `volume ${name} is not mounted`);
  }
  for (const container of containers) {
    const mounts: { name: string; mountPath: string }[] = container.volumeMounts ?? [];
    for (const { name } of mounts) if (!volumes.has(name)) complain(owner, `no volume ${name}`);
    checkPaths(owner, container, mounts, objects, spec, complain);
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const port = container[probe]?.httpGet?.port ?? container[probe]?.tcpSocket?.port;
      if (port !== undefined && !portNames(container).includes(port))
        complain(owner, `${probe}: no port ${port}`);
    }
    const context = container.securityContext ?? {};
    if (context.readOnlyRootFilesystem !== true || context.allowPrivilegeEscalation !== false) {
      complain(owner, `container ${container.name} may write to its image or gain privileges`);
    }
  }
  if (spec.securityContext?.runAsNonRoot !== true) complain(owner, "may run as root");
}

const nameOf = ({ name }: { readonly name: string }) => name;

/** Flags that name files below /etc/keelson name files of a mounted Secret that has them. */
function checkPaths(
  owner: Rendered,
  container: { readonly args?: readonly string[] },
  mounts: readonly { readonly name: string; readonly mountPath: string }[],
  objects: readonly Rendered[],
  spec: Pods["spec"],
  complain: Complain,
): void {
  for (const arg of container.args ?? []) {
    const path = /=(\/(?:etc|var)\/[^,]*)$/.exec(arg)?.[1];
    if (path === undefined) continue;
    const mount = mounts.find(
      ({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`),
    );
    if (mount === undefined) {
      complain(owner, `${arg}: nothing is mounted there`);
      continue;
    }
    const volume = spec.volumes?.find(({ name }: { name: string }) => name === mount.name);
    const secret = objects.find(
      ({ kind, metadata }) => kind === "Secret" && metadata.name === volume?.secret?.secretName,
    );
    const key = path.slice(mount.mountPath.length + 1);
    if (secret !== undefined && secret.data?.[key] === undefined)
      complain(owner, `${arg}: no key ${key}`);
  }
}

function checkReferences(object: Rendered, objects: readonly Rendered[], complain: Complain): void {
  const need = (kind: string, name: string) => {
    if (!has(objects, kind, name)) complain(object, `there is no ${kind} ${name}`);
  };
  const { kind, spec } = object;
  if (kind === "HorizontalPodAutoscaler") need(spec.scaleTargetRef.kind, spec.scaleTargetRef.name);
  if (kind === "StatefulSet") need("Service", spec.serviceName);
  if (kind === "RoleBinding") {
    need("Role", object.roleRef.name);
    for (const subject of object.subjects) need(subject.kind, subject.name);
  }
  if (kind === "Ingress") {
    for (const rule of spec.rules) {
      for (const { backend } of rule.http.paths) need("Service", backend.service.name);
    }
  }
  if (kind === "TLSRoute") {
    for (const { backendRefs } of spec.rules)
      for (const { name } of backendRefs) need("Service", name);
  }
}
