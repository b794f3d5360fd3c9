/** The restricted level of the Pod Security Standards: checks for hardened pods beyond the baseline. */
import { refuseSetting, seccompProfile } from "./baseline.js";
import {
  allContainers,
  type Check,
  type Container,
  containersText,
  distinct,
  namesOf,
  type PodSpec,
  plural,
  quoted,
} from "./pod-parts.js";

/** Volume types that expose nothing of the node or the network. */
const SAFE_VOLUMES: readonly string[] = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

const isWindows = ({ os }: PodSpec) => os?.name === "windows";

/** Skips a check that has no meaning on Windows. */
export function exceptOnWindows(check: Check): Check {
  return (pod) => (isWindows(pod.spec) ? undefined : check(pod));
}

/** Root inside a user namespace is unprivileged outside. */
export function exceptInUserNamespace(check: Check): Check {
  return (pod) => (pod.spec.hostUsers === false ? undefined : check(pod));
}

export const allowPrivilegeEscalation: Check = ({ spec }) => {
  const names = namesOf(
    spec,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  );
  if (names.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

export const droppedCapabilities: Check = ({ spec }) => {
  const foreign = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE");
  const keeping = namesOf(
    spec,
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes("ALL") !== true,
  );
  const adding = namesOf(spec, (container) => foreign(container).length > 0);
  const details: string[] = [];
  if (keeping.length > 0) {
    details.push(`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  }
  if (adding.length > 0) {
    const added = quoted(distinct(allContainers(spec).flatMap(foreign)));
    details.push(
      `${containersText(adding)} must not include ${added} in securityContext.capabilities.add`,
    );
  }
  if (details.length === 0) return undefined;
  return { reason: "unrestricted capabilities", detail: details.join("; ") };
};

export const restrictedVolumes: Check = ({ spec }) => {
  const bad = (spec.volumes ?? []).filter(
    (volume) => !SAFE_VOLUMES.some((type) => volume[type] !== undefined),
  );
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => String(name));
  const types = distinct(
    bad.map((volume) => {
      const isSource = (field: string) => field !== "name" && volume[field] !== undefined;
      return Object.keys(volume).find(isSource) ?? "unknown";
    }),
  );
  const use = names.length === 1 ? "uses" : "use";
  const what = plural("restricted volume type", types.length);
  return {
    reason: "restricted volume types",
    detail: `${plural("volume", names.length)} ${quoted(names)} ${use} ${what} ${quoted(types)}`,
  };
};

export const runAsNonRoot: Check = ({ spec }) => {
  const reason = "runAsNonRoot != true";
  const rule = "must not set securityContext.runAsNonRoot=false";
  const finding = refuseSetting(spec, (context) => context?.runAsNonRoot === false, reason, rule);
  if (finding !== undefined || spec.securityContext?.runAsNonRoot === true) return finding;
  const silent = namesOf(
    spec,
    ({ securityContext }) => (securityContext?.runAsNonRoot ?? null) === null,
  );
  if (silent.length === 0) return undefined;
  const detail = `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true`;
  return { reason, detail };
};

export const runAsUser: Check = ({ spec }) => {
  const isRoot = (user: number | bigint | undefined) => user === 0 || user === 0n;
  return refuseSetting(
    spec,
    (context) => isRoot(context?.runAsUser),
    "runAsUser=0",
    "must not set runAsUser=0",
  );
};

export const requiredSeccompProfile: Check = (pod) => {
  const finding = seccompProfile(pod);
  const { spec } = pod;
  if (finding !== undefined || spec.securityContext?.seccompProfile !== undefined) return finding;
  const silent = namesOf(
    spec,
    ({ securityContext }) => securityContext?.seccompProfile === undefined,
  );
  if (silent.length === 0) return undefined;
  return {
    reason: "seccompProfile",
    detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
};
