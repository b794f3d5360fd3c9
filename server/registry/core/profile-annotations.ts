/**
 * The annotations that were the profiles of containers before these had fields: their form, their agreement with the
 * fields, and AppArmor's way into the field (R18, R44).
 *
 *   seccomp.security.alpha.kubernetes.io/pod                 runtime/default, docker/default, unconfined, localhost/PATH
 *   container.seccomp.security.alpha.kubernetes.io/NAME      the same
 *   container.apparmor.security.beta.kubernetes.io/NAME      runtime/default, unconfined, localhost/NAME, or nothing
 */
import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField, invalidValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import { type Maybe, validateLocalPath } from "../../api/validation-values.js";
import type { AppArmorProfile, Container, PodSpec, SeccompProfile } from "./pod-types.js";
import { isAppArmorProfile } from "./validate-security.js";

type Profile = AppArmorProfile | SeccompProfile;

type Annotations = Readonly<Record<string, string>>;

const LOCALHOST = "localhost/";
const RUNTIME_DEFAULT = "runtime/default";

/** The form of the annotations. @param field of the annotations, such as "metadata.annotations" */
export function validateProfileAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  { field, naming, errors }: { field: string; naming: Naming; errors: FieldError[] },
): void {
  const { pod, seccomp, appArmor } = prefixesOf(naming);
  let names: ReadonlySet<string> | undefined;
  for (const key of Object.keys(annotations).sort()) {
    const value = annotations[key] ?? "";
    if (key === pod || key.startsWith(seccomp)) {
      validateSeccompName(value, `${field}.${key}`, errors);
    } else if (key.startsWith(appArmor)) {
      const name = key.slice(appArmor.length);
      names ??= new Set(placedContainers(spec).map(([container]) => container.name));
      if (!names.has(name))
        errors.push(invalidValue(`${field}[${key}]`, name, "container not found"));
      if (isAppArmorName(value)) continue;
      const why = `invalid AppArmor profile name: ${JSON.stringify(value)}`;
      errors.push(invalidValue(`${field}[${key}]`, value, why));
    }
  }
}

/** That field and annotation say the same where both are. @param at of the specification, such as "spec" */
export function validateProfilesMatch(
  annotations: Annotations,
  spec: PodSpec,
  { at, naming, errors }: { at: string; naming: Naming; errors: FieldError[] },
): void {
  const { pod, seccomp, appArmor } = prefixesOf(naming);
  const compare = (
    kind: "seccomp" | "apparmor",
    key: string,
    profile: Maybe<Profile>,
    field: string,
  ) => {
    const annotation = annotations[key];
    if (annotation === undefined || !profile) return;
    const [member, what] = whatDiffers(kind, annotation, profile);
    if (member === undefined) return;
    const why = `${kind} ${what} in annotation and field must match`;
    errors.push(forbiddenField(`${field}.${member}`, why));
  };
  const own = spec.securityContext;
  compare("seccomp", pod, own?.seccompProfile, `${at}.securityContext.seccompProfile`);
  const containers = placedContainers(spec);
  for (const [{ name, securityContext }, place] of containers) {
    const field = `${at}.${place}.securityContext.seccompProfile`;
    compare("seccomp", `${seccomp}${name}`, securityContext?.seccompProfile, field);
  }
  if (spec.os?.name === "windows") return;
  for (const [{ name, securityContext }, place] of containers) {
    const profile = securityContext?.appArmorProfile ?? own?.appArmorProfile;
    const field = `${at}.${place}.securityContext.appArmorProfile`;
    compare("apparmor", `${appArmor}${name}`, profile, field);
  }
}

/**
 * Writes the profiles of a new pod's annotations to the containers that have none. @param warn is told of each
 * annotation that had no field beside it
 */
export function fillInAppArmor(
  annotations: Annotations,
  spec: PodSpec,
  { naming, warn }: { naming: Naming; warn?: ((text: string) => void) | undefined },
): void {
  if (spec.os?.name === "windows") return;
  const { appArmor } = prefixesOf(naming);
  for (const [container] of placedContainers(spec)) {
    const key = `${appArmor}${container.name}`;
    const annotation = annotations[key];
    if (annotation === undefined || container.securityContext?.appArmorProfile) continue;
    const profile = appArmorOf(annotation);
    if (profile !== undefined && deepEqual(profile, spec.securityContext?.appArmorProfile))
      continue;
    if (profile !== undefined) {
      const securityContext = { ...container.securityContext, appArmorProfile: profile };
      Object.assign(container, { securityContext });
    }
    const why = 'deprecated since v1.30; use the "appArmorProfile" field instead';
    warn?.(`metadata.annotations[${key}]: ${why}`);
  }
}

function prefixesOf({ labelDomain }: Naming) {
  return {
    pod: `seccomp.security.alpha.${labelDomain}/pod`,
    seccomp: `container.seccomp.security.alpha.${labelDomain}/`,
    appArmor: `container.apparmor.security.beta.${labelDomain}/`,
  };
}

/** The containers in the order of the rules, each with its place in the specification. */
function placedContainers(spec: PodSpec): readonly (readonly [Container, string])[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, index) => [container, `${list}[${index}]`] as const),
  );
}

function validateSeccompName(name: string, field: string, errors: FieldError[]): void {
  if (isSeccompDefault(name) || name === "unconfined") return;
  if (name.startsWith(LOCALHOST)) {
    validateLocalPath(name.slice(LOCALHOST.length), field, errors);
  } else errors.push(invalidValue(field, name, "must be a valid seccomp profile"));
}

function isSeccompDefault(name: string): boolean {
  return name === RUNTIME_DEFAULT || name === "docker/default";
}

function isAppArmorName(name: string): boolean {
  return ["", RUNTIME_DEFAULT, "unconfined"].includes(name) || name.startsWith(LOCALHOST);
}

/** The field that differs, and how messages call it; undefined where both say the same. */
function whatDiffers(
  kind: "seccomp" | "apparmor",
  annotation: string,
  { type, localhostProfile }: Profile,
): readonly [member?: string, what?: string] {
  const isDefault =
    kind === "seccomp" ? isSeccompDefault(annotation) : annotation === RUNTIME_DEFAULT;
  switch (type) {
    case "Unconfined":
      return annotation === "unconfined" ? [] : ["type", "type"];
    case "RuntimeDefault":
      return isDefault ? [] : ["type", "type"];
    case "Localhost":
      if (!annotation.startsWith(LOCALHOST)) return ["type", "type"];
      return annotation === `${LOCALHOST}${localhostProfile ?? ""}` && localhostProfile
        ? []
        : ["localhostProfile", "profile"];
    default:
      return [];
  }
}

/** undefined for a name that no field can have */
function appArmorOf(annotation: string): Profile | undefined {
  if (annotation === "unconfined") return { type: "Unconfined" };
  if (annotation === RUNTIME_DEFAULT) return { type: "RuntimeDefault" };
  if (!annotation.startsWith(LOCALHOST)) return undefined;
  const profile = { type: "Localhost", localhostProfile: annotation.slice(LOCALHOST.length) };
  return isAppArmorProfile(profile) ? profile : undefined;
}
