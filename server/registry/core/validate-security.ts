/** Rules for the security settings of pods and containers. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
  unsupportedValue,
} from "../../api/field-errors.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import {
  type Maybe,
  repeats,
  validateChoice,
  validateDnsSubdomain,
  validateId,
  validateLocalPath,
} from "../../api/validation-values.js";
import type { PodCheck } from "./pod-check.js";
import type {
  AppArmorProfile,
  Container,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  WindowsSecurityContextOptions,
} from "./pod-types.js";

export function validateSecurityContext(
  context: SecurityContext,
  field: string,
  { errors, spec }: PodCheck,
): void {
  validateId(context.runAsUser, `${field}.runAsUser`, errors);
  validateId(context.runAsGroup, `${field}.runAsGroup`, errors);
  validateChoice(context.procMount, `${field}.procMount`, PROC_MOUNTS, errors);
  if (context.procMount === "Unmasked" && spec.hostUsers !== false) {
    const why = "`hostUsers` must be false to use `Unmasked`";
    errors.push(invalidValue(`${field}.procMount`, context.procMount, why));
  }
  validateSeccomp(context.seccompProfile, `${field}.seccompProfile`, errors);
  if (context.allowPrivilegeEscalation === false) {
    const prefix = "cannot set `allowPrivilegeEscalation` to false and";
    if (context.privileged === true) {
      errors.push(invalidValue(field, context, `${prefix} \`privileged\` to true`));
    }
    if (context.capabilities?.add?.includes("CAP_SYS_ADMIN")) {
      errors.push(invalidValue(field, context, `${prefix} \`capabilities.Add\` CAP_SYS_ADMIN`));
    }
  }
  validateWindows(context.windowsOptions, `${field}.windowsOptions`, errors);
  validateAppArmor(context.appArmorProfile, `${field}.appArmorProfile`, errors);
}

const SYSCTL_CHARS_MAX = 253;
const SYSCTL_NAME = /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;
const PROC_MOUNTS = ["Default", "Unmasked"];
/** Changes by an option of the mount are off in this release. */
const SELINUX_CHANGES = ["Recursive"];
const GROUP_CHANGES = ["Always", "OnRootMismatch"];
const GROUP_POLICIES = ["Merge", "Strict"];

export function validatePodSecurityContext(
  context: PodSecurityContext,
  field: string,
  { errors, spec, before }: PodCheck,
): void {
  validateId(context.fsGroup, `${field}.fsGroup`, errors);
  validateId(context.runAsUser, `${field}.runAsUser`, errors);
  validateId(context.runAsGroup, `${field}.runAsGroup`, errors);
  context.supplementalGroups?.forEach((group, index) => {
    validateId(group, `${field}.supplementalGroups[${index}]`, errors);
  });
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const why = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.push(invalidValue(`${field}.shareProcessNamespace`, true, why));
  }
  validateSysctls(context.sysctls ?? [], `${field}.sysctls`, { errors, spec, before });
  validateSeccomp(context.seccompProfile, `${field}.seccompProfile`, errors);
  validateWindows(context.windowsOptions, `${field}.windowsOptions`, errors);
  validateAppArmor(context.appArmorProfile, `${field}.appArmorProfile`, errors);
  for (const [member, choices] of [
    ["fsGroupChangePolicy", GROUP_CHANGES],
    ["supplementalGroupsPolicy", GROUP_POLICIES],
    ["seLinuxChangePolicy", SELINUX_CHANGES],
  ] as const) {
    validateChoice(context[member], `${field}.${member}`, choices, errors);
  }
}

function validateSysctls(
  sysctls: readonly { readonly name: string }[],
  field: string,
  { errors, spec, before }: Pick<PodCheck, "errors" | "spec" | "before">,
): void {
  const isRepeated = repeats();
  // Objects from before the rule below stay changeable.
  const isTolerated = before?.securityContext?.sysctls?.some(({ name }) => isOfHost(name, before));
  sysctls.forEach(({ name }, index) => {
    const at = `${field}[${index}].name`;
    if (name === "") {
      errors.push(requiredValue(at));
      return;
    }
    if (name.length > SYSCTL_CHARS_MAX || !SYSCTL_NAME.test(name)) {
      const why = `must have at most ${SYSCTL_CHARS_MAX} characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`;
      errors.push(invalidValue(at, name, why));
    } else if (isRepeated(name)) {
      errors.push(duplicateValue(at, name));
    }
    if (isTolerated !== true && isOfHost(name, spec)) {
      const why = `may not be specified when '${hostMemberOf(name)}' is true`;
      errors.push(invalidValue(at, name, why));
    }
  });
}

const IPC_SYSCTLS: ReadonlySet<string> = new Set(
  ["sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb"]
    .concat("msgmni")
    .map((name) => `kernel.${name}`),
);

/** By which a pod shares with its host what the setting is of: the host's would change. */
function hostMemberOf(sysctl: string): "hostNetwork" | "hostIPC" | undefined {
  const name = withDots(sysctl);
  if (name.startsWith("net.")) return "hostNetwork";
  return IPC_SYSCTLS.has(name) || name.startsWith("fs.mqueue.") ? "hostIPC" : undefined;
}

function isOfHost(sysctl: string, spec: PodSpec): boolean {
  const host = hostMemberOf(sysctl);
  return host !== undefined && spec[host] === true;
}

/** The first separator says whether it is written with dots or with slashes, where both are exchanged. */
function withDots(sysctl: string): string {
  if (/[./]/.exec(sysctl)?.[0] !== "/") return sysctl;
  return sysctl.replaceAll(/[./]/g, (one) => (one === "/" ? "." : "/"));
}

function isSet(profile: AppArmorProfile | SeccompProfile): boolean {
  return profile.localhostProfile !== undefined && profile.localhostProfile !== null;
}

const PROFILE_TYPES = ["Localhost", "RuntimeDefault", "Unconfined"];

/** @returns whether it is one that is known */
function validateProfileType(
  { type }: AppArmorProfile | SeccompProfile,
  field: string,
  { of, errors }: { of: string; errors: FieldError[] },
): boolean {
  if (PROFILE_TYPES.includes(type)) return true;
  if (type !== "") errors.push(unsupportedValue(`${field}.type`, type, PROFILE_TYPES));
  else errors.push(requiredValue(`${field}.type`, `type is required when ${of} is set`));
  return false;
}

function validateSeccomp(
  profile: Maybe<SeccompProfile>,
  field: string,
  errors: FieldError[],
): void {
  if (!profile) return;
  validateProfileType(profile, field, { of: "seccompProfile", errors });
  const at = `${field}.localhostProfile`;
  if (profile.type !== "Localhost") {
    if (!isSet(profile)) return;
    // Shown in messages as kube-apiserver's struct.
    const shown = { Type: profile.type, LocalhostProfile: profile.localhostProfile };
    errors.push(invalidValue(at, shown, "can only be set when seccomp type is Localhost"));
  } else if (isSet(profile)) {
    validateLocalPath(profile.localhostProfile ?? "", at, errors);
  } else {
    errors.push(requiredValue(at, "must be set when seccomp type is Localhost"));
  }
}

/** The longest path that a node can open. */
const APPARMOR_BYTES_MAX = 4_095;

/** Whether a field may hold the profile. */
export function isAppArmorProfile(profile: AppArmorProfile): boolean {
  const errors = new Problems();
  validateAppArmor(profile, "", errors);
  return errors.length === 0;
}

function validateAppArmor(
  profile: Maybe<AppArmorProfile>,
  field: string,
  errors: FieldError[],
): void {
  if (!profile) return;
  if (!validateProfileType(profile, field, { of: "appArmorProfile", errors })) return;
  const at = `${field}.localhostProfile`;
  const name = profile.localhostProfile ?? "";
  if (profile.type !== "Localhost") {
    if (!isSet(profile)) return;
    errors.push(invalidValue(at, name, "can only be set when AppArmor type is Localhost"));
    return;
  }
  if (name.trim() !== name) {
    errors.push(invalidValue(at, name, "must not be padded with whitespace"));
  } else if (name === "") {
    errors.push(requiredValue(at, "must be set when AppArmor type is Localhost"));
  }
  if (name.length > APPARMOR_BYTES_MAX) errors.push(tooLongValue(at, APPARMOR_BYTES_MAX));
}

const CREDENTIAL_SPEC_KIB_MAX = 64;

function validateWindows(
  options: Maybe<WindowsSecurityContextOptions>,
  field: string,
  errors: FieldError[],
): void {
  if (!options) return;
  const { gmsaCredentialSpecName, gmsaCredentialSpec, runAsUserName } = options;
  if (typeof gmsaCredentialSpecName === "string") {
    validateDnsSubdomain(gmsaCredentialSpecName, `${field}.gmsaCredentialSpecName`, errors);
  }
  if (typeof gmsaCredentialSpec === "string") {
    const at = `${field}.gmsaCredentialSpec`;
    if (gmsaCredentialSpec === "") {
      errors.push(invalidValue(at, "", "gmsaCredentialSpec cannot be an empty string"));
    } else if (gmsaCredentialSpec.length > CREDENTIAL_SPEC_KIB_MAX * 1024) {
      const why = `gmsaCredentialSpec size must be under ${CREDENTIAL_SPEC_KIB_MAX} KiB`;
      errors.push(invalidValue(at, gmsaCredentialSpec, why));
    }
  }
  if (typeof runAsUserName === "string") {
    const why = windowsUserProblem(runAsUserName);
    if (why !== undefined) errors.push(invalidValue(`${field}.runAsUserName`, runAsUserName, why));
  }
}

function windowsUserProblem(name: string): string | undefined {
  if (name === "") return "runAsUserName cannot be an empty string";
  if (/\p{Cc}/u.test(name)) return "runAsUserName cannot contain control characters";
  const parts = name.split("\\");
  if (parts.length > 2) return "runAsUserName cannot contain more than one backslash";
  const user = parts.at(-1) ?? "";
  if (user === "") return "runAsUserName's User cannot be empty";
  if (user.length > 104) {
    return "runAsUserName's User length must not be longer than 104 characters";
  }
  if (/^[. ]+$/.test(user)) return "runAsUserName's User cannot contain only periods or spaces";
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
    return `runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`;
  }
  return undefined;
}

/** Windows containers run as processes of the node all together or not at all, in the node's network. */
export function validateHostProcesses(field: string, { errors, spec }: PodCheck): void {
  const whole = spec.securityContext?.windowsOptions?.hostProcess ?? undefined;
  let count = 0;
  let hosted = 0;
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    spec[list]?.forEach(({ securityContext }, index) => {
      const own = securityContext?.windowsOptions?.hostProcess ?? undefined;
      if (whole !== undefined && own !== undefined && own !== whole) {
        const at = `${field}.${list}[${index}].securityContext.windowsOptions.hostProcess`;
        const why = `pod hostProcess value must be identical if both are specified, was ${whole}`;
        errors.push(invalidValue(at, own, why));
      }
      count++;
      if (own ?? whole) hosted++;
    });
  }
  if (hosted === 0) return;
  if (hosted !== count) {
    const why =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    errors.push(invalidValue(field, "", why));
  }
  if (spec.hostNetwork === true) return;
  const why = "hostNetwork must be true if pod contains any hostProcess containers";
  errors.push(invalidValue(`${field}.hostNetwork`, false, why));
}

const OPERATING_SYSTEMS = ["linux", "windows"];
const POD_LINUX_ONLY = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const CONTAINER_LINUX_ONLY = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

/** Refuses settings of another operating system than the pod's. */
export function validateOperatingSystem(field: string, { errors, spec }: PodCheck): void {
  const name = spec.os?.name ?? "";
  if (name === "") {
    errors.push(requiredValue(`${field}.os.name`));
    return;
  }
  if (!OPERATING_SYSTEMS.includes(name)) {
    errors.push(unsupportedValue(`${field}.os`, name, OPERATING_SYSTEMS));
    return;
  }
  const isLinux = name === "linux";
  const why = isLinux
    ? "windows options cannot be set for a linux pod"
    : "cannot be set for a windows pod";
  const forbidIn = (
    context: Maybe<PodSecurityContext | SecurityContext>,
    at: string,
    names: readonly string[],
  ) => {
    const members = (context ?? {}) as Readonly<Record<string, unknown>>;
    for (const member of isLinux ? ["windowsOptions"] : names) {
      const value = members[member];
      const isGiven = Array.isArray(value) ? value.length > 0 : (value ?? undefined) !== undefined;
      if (isGiven) errors.push(forbiddenField(`${at}.${member}`, why));
    }
  };
  forbidIn(spec.securityContext, `${field}.securityContext`, POD_LINUX_ONLY);
  if (!isLinux) {
    for (const member of ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const) {
      const value = spec[member] ?? undefined;
      const isGiven = member.startsWith("hostU") || member.startsWith("share");
      if (isGiven ? value !== undefined : value === true) {
        errors.push(forbiddenField(`${field}.${member}`, why));
      }
    }
  }
  const lists = ["initContainers", "containers", "ephemeralContainers"] as const;
  for (const list of lists) {
    spec[list]?.forEach((container: Container, index: number) => {
      const at = `${field}.${list}[${index}].securityContext`;
      forbidIn(container.securityContext, at, CONTAINER_LINUX_ONLY);
    });
  }
}
