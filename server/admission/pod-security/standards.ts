/**
 * The Pod Security Standards by level and version: the checks that a pod has to pass. A version is the
 * minor of a release, so a new release refuses no pod that an older version allowed.
 */
import {
  appArmorProfile,
  defaultCapabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  procMountOfHostUsers,
  seccompProfile,
  seLinuxOptions,
  sysctls,
  windowsHostProcess,
} from "./baseline.js";
import type { Check, Finding, PodParts } from "./pod-parts.js";
import {
  allowPrivilegeEscalation,
  droppedCapabilities,
  exceptInUserNamespace,
  exceptOnWindows,
  requiredSeccompProfile,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
} from "./restricted.js";

export type Level = "privileged" | "baseline" | "restricted";

export const LEVELS: readonly Level[] = ["privileged", "baseline", "restricted"];

/** A minor release; Infinity = the newest. */
export interface Standard {
  readonly level: Level;
  readonly minor: number;
}

interface VersionedCheck {
  readonly id: string;
  /** Checks by the release that introduced them, oldest first. */
  readonly versions: readonly (readonly [minor: number, check: Check])[];
  /** Baseline checks that this stricter one replaces. */
  readonly replaces?: string;
}

const SYSCTLS_1_0 = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const SYSCTLS_1_27 = [...SYSCTLS_1_0, "net.ipv4.ip_local_reserved_ports"];
const SYSCTLS_1_29 = [
  ...SYSCTLS_1_27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const SYSCTLS_1_32 = [...SYSCTLS_1_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
const SELINUX_1_0 = ["container_t", "container_init_t", "container_kvm_t"];

const BASELINE: readonly VersionedCheck[] = [
  { id: "appArmorProfile", versions: [[0, appArmorProfile]] },
  { id: "capabilities", versions: [[0, defaultCapabilities]] },
  { id: "hostNamespaces", versions: [[0, hostNamespaces]] },
  { id: "hostPathVolumes", versions: [[0, hostPathVolumes]] },
  { id: "hostPorts", versions: [[0, hostPorts]] },
  { id: "hostProbes", versions: [[34, hostProbes]] },
  { id: "privileged", versions: [[0, privileged]] },
  {
    id: "procMount",
    versions: [
      [0, procMount],
      [35, procMountOfHostUsers],
    ],
  },
  {
    id: "seLinuxOptions",
    versions: [
      [0, seLinuxOptions(SELINUX_1_0)],
      [31, seLinuxOptions([...SELINUX_1_0, "container_engine_t"])],
    ],
  },
  { id: "seccompProfile", versions: [[0, seccompProfile]] },
  {
    id: "sysctls",
    versions: [
      [0, sysctls(SYSCTLS_1_0)],
      [27, sysctls(SYSCTLS_1_27)],
      [29, sysctls(SYSCTLS_1_29)],
      [32, sysctls(SYSCTLS_1_32)],
    ],
  },
  { id: "windowsHostProcess", versions: [[0, windowsHostProcess]] },
];

const RESTRICTED: readonly VersionedCheck[] = [
  {
    id: "allowPrivilegeEscalation",
    versions: [
      [8, allowPrivilegeEscalation],
      [25, exceptOnWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: "capabilities_restricted",
    versions: [
      [22, droppedCapabilities],
      [25, exceptOnWindows(droppedCapabilities)],
    ],
    replaces: "capabilities",
  },
  { id: "procMount_restricted", versions: [[35, procMount]], replaces: "procMount" },
  { id: "restrictedVolumes", versions: [[0, restrictedVolumes]], replaces: "hostPathVolumes" },
  {
    id: "runAsNonRoot",
    versions: [
      [0, runAsNonRoot],
      [35, exceptInUserNamespace(runAsNonRoot)],
    ],
  },
  {
    id: "runAsUser",
    versions: [
      [23, runAsUser],
      [35, exceptInUserNamespace(runAsUser)],
    ],
  },
  {
    id: "seccompProfile_restricted",
    versions: [
      [19, requiredSeccompProfile],
      [25, exceptOnWindows(requiredSeccompProfile)],
    ],
    replaces: "seccompProfile",
  },
];

/** The pod's violations of the standard, baseline first. */
export function evaluatePod({ level, minor }: Standard, pod: PodParts): Finding[] {
  if (level === "privileged") return [];
  const valid = ({ versions }: VersionedCheck) => versions.findLast(([since]) => since <= minor);
  const restricted = level === "restricted" ? RESTRICTED.filter((check) => valid(check)) : [];
  const replaced = restricted.map(({ replaces }) => replaces);
  const checks = [...BASELINE.filter(({ id }) => !replaced.includes(id)), ...restricted];
  return checks.flatMap((check) => valid(check)?.[1](pod) ?? []);
}

/** All findings in one line: "privileged (container ...), hostPort (...)". */
export function describeFindings(findings: readonly Finding[]): string {
  return findings
    .map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`))
    .join(", ");
}

/** "restricted:latest" or "baseline:v1.30". */
export function formatStandard({ level, minor }: Standard): string {
  return `${level}:${minor === Number.POSITIVE_INFINITY ? "latest" : `v1.${minor}`}`;
}

/** Compares two levels by strictness: negative, zero or positive, as in sorting. */
export function compareLevels(left: Level, right: Level): number {
  return LEVELS.indexOf(left) - LEVELS.indexOf(right);
}
