/**
 * The baseline level of the Pod Security Standards: prevents known privilege escalations out of the
 * container.
 */
import {
  allContainers,
  type Check,
  type Container,
  containersText,
  distinct,
  type Finding,
  namesOf,
  type PodParts,
  plural,
  quoted,
  type SecurityContext,
  settersText,
} from "./pod-parts.js";

const DEFAULT_CAPABILITIES: ReadonlySet<string> = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

const SAFE_PROFILES: readonly (string | undefined)[] = ["RuntimeDefault", "Localhost"];

export const appArmorProfile: Check = ({ spec, annotations, labelDomain }) => {
  const isBad = ({ appArmorProfile: profile }: SecurityContext = {}) =>
    profile !== undefined && !SAFE_PROFILES.includes(profile.type);
  const bad = contextsWhere(spec, isBad);
  const prefix = `container.apparmor.security.beta.${labelDomain}/`;
  const notes = Object.entries(annotations)
    .filter(([key, value]) => key.startsWith(prefix) && !isSafeAnnotation(value))
    .map(([key, value]) => `${key}="${value}"`)
    .sort();
  const setters = [
    settersText(bad.isPod, bad.containers) ?? [],
    notes.length > 0 ? plural("annotation", notes.length) : [],
  ].flat();
  if (setters.length === 0) return undefined;
  const types = distinct(bad.contexts.map((context) => context.appArmorProfile?.type ?? ""));
  const values = [...types, ...notes];
  return {
    reason: plural("forbidden AppArmor profile", values.length),
    detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

function isSafeAnnotation(profile: string): boolean {
  return profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");
}

export const defaultCapabilities: Check = ({ spec }) => {
  const foreign = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => !DEFAULT_CAPABILITIES.has(name));
  const names = namesOf(spec, (container) => foreign(container).length > 0);
  if (names.length === 0) return undefined;
  const added = distinct(allContainers(spec).flatMap(foreign));
  return {
    reason: "non-default capabilities",
    detail: `${containersText(names)} must not include ${quoted(added)} in securityContext.capabilities.add`,
  };
};

export const hostNamespaces: Check = ({ spec }) => {
  const used = (["hostNetwork", "hostPID", "hostIPC"] as const).filter(
    (field) => spec[field] === true,
  );
  if (used.length === 0) return undefined;
  return { reason: "host namespaces", detail: used.map((field) => `${field}=true`).join(", ") };
};

export const hostPathVolumes: Check = ({ spec }) => {
  const names = (spec.volumes ?? [])
    .filter(({ hostPath }) => hostPath !== undefined)
    .map(({ name }) => String(name));
  if (names.length === 0) return undefined;
  return {
    reason: "hostPath volumes",
    detail: `${plural("volume", names.length)} ${quoted(names)}`,
  };
};

export const hostPorts: Check = ({ spec }) => {
  const portsOf = ({ ports = [] }: Container) =>
    ports.flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : String(hostPort)));
  const names = namesOf(spec, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = distinct(allContainers(spec).flatMap(portsOf));
  const use = names.length === 1 ? "uses" : "use";
  return {
    reason: "hostPort",
    detail: `${containersText(names)} ${use} ${plural("hostPort", ports.length)} ${ports.join(", ")}`,
  };
};

/** A node sends probes on behalf of the container, so they must not target other hosts. */
export const hostProbes: Check = ({ spec }) => {
  const hostsOf = (container: Container) => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    return [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
      .flatMap((handler) => [handler?.httpGet?.host ?? "", handler?.tcpSocket?.host ?? ""])
      .filter((host) => host !== "");
  };
  const names = distinct(namesOf(spec, (container) => hostsOf(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = distinct(allContainers(spec).flatMap(hostsOf));
  const use = names.length === 1 ? "uses" : "use";
  const what = plural("probe or lifecycle host", hosts.length);
  return {
    reason: "probe or lifecycle host",
    detail: `${containersText(names)} ${use} ${what} ${quoted(hosts)}`,
  };
};

export const privileged: Check = ({ spec }) => {
  const names = namesOf(spec, ({ securityContext }) => securityContext?.privileged === true);
  if (names.length === 0) return undefined;
  return {
    reason: "privileged",
    detail: `${containersText(names)} must not set securityContext.privileged=true`,
  };
};

export const procMount: Check = ({ spec }) => {
  const isBad = ({ securityContext }: Container) =>
    (securityContext?.procMount ?? "Default") !== "Default";
  const bad = allContainers(spec).filter(isBad);
  if (bad.length === 0) return undefined;
  const types = distinct(bad.map(({ securityContext }) => securityContext?.procMount ?? ""));
  return {
    reason: "procMount",
    detail: `${containersText(namesOf(spec, isBad))} must not set securityContext.procMount to ${quoted(types)}`,
  };
};

/** Root in a user namespace sees nothing of the host there. */
export const procMountOfHostUsers: Check = (pod) =>
  pod.spec.hostUsers === false ? undefined : procMount(pod);

export function seLinuxOptions(allowedTypes: readonly string[]): Check {
  return ({ spec }) => {
    const isBadType = (type: string) => type !== "" && !allowedTypes.includes(type);
    const bad = contextsWhere(spec, ({ seLinuxOptions: options } = {}) => {
      const { type = "", user = "", role = "" } = options ?? {};
      return isBadType(type) || user !== "" || role !== "";
    });
    const setters = settersText(bad.isPod, bad.containers);
    if (setters === undefined) return undefined;
    const options = bad.contexts.map((context) => context.seLinuxOptions ?? {});
    const types = distinct(options.map(({ type = "" }) => type).filter(isBadType));
    const problems = [
      types.length > 0 ? `${plural("type", types.length)} ${quoted(types)}` : [],
      options.some(({ user = "" }) => user !== "") ? "user may not be set" : [],
      options.some(({ role = "" }) => role !== "") ? "role may not be set" : [],
    ].flat();
    return {
      reason: "seLinuxOptions",
      detail: `${setters} set forbidden securityContext.seLinuxOptions: ${problems.join("; ")}`,
    };
  };
}

export const seccompProfile: Check = ({ spec }) => {
  const bad = contextsWhere(
    spec,
    ({ seccompProfile: profile } = {}) =>
      profile !== undefined && !SAFE_PROFILES.includes(profile.type),
  );
  const setters = settersText(bad.isPod, bad.containers);
  if (setters === undefined) return undefined;
  const types = distinct(bad.contexts.map((context) => context.seccompProfile?.type ?? ""));
  return {
    reason: "seccompProfile",
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(types)}`,
  };
};

export function sysctls(allowed: readonly string[]): Check {
  return ({ spec }) => {
    const names = (spec.securityContext?.sysctls ?? [])
      .map(({ name = "" }) => name)
      .filter((name) => !allowed.includes(name));
    if (names.length === 0) return undefined;
    return { reason: "forbidden sysctls", detail: names.join(", ") };
  };
}

export const windowsHostProcess: Check = ({ spec }) =>
  refuseSetting(
    spec,
    (context) => context?.windowsOptions?.hostProcess === true,
    "hostProcess",
    "must not set securityContext.windowsOptions.hostProcess=true",
  );

/** Returns a finding if the pod or its containers have the setting. */
export function refuseSetting(
  spec: PodParts["spec"],
  test: (context: SecurityContext | undefined) => boolean,
  reason: string,
  rule: string,
): Finding | undefined {
  const bad = contextsWhere(spec, test);
  const setters = settersText(bad.isPod, bad.containers);
  return setters === undefined ? undefined : { reason, detail: `${setters} ${rule}` };
}

function contextsWhere(
  spec: PodParts["spec"],
  test: (context: SecurityContext | undefined) => boolean,
) {
  const isPod = test(spec.securityContext);
  const bad = allContainers(spec).filter(({ securityContext }) => test(securityContext));
  const contexts = [
    ...(isPod ? [spec.securityContext] : []),
    ...bad.map(({ securityContext }) => securityContext),
  ];
  return {
    isPod,
    containers: bad.map(({ name = "" }) => name),
    contexts: contexts.filter((context) => context !== undefined),
  };
}
