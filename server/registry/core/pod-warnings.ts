/**
 * Warnings about pods and templates of pods that are accepted, and deprecated or probably not meant (R27;
 * pkg/api/pod/warnings.go). A change of a pod is told nothing, as kubelets make most of them.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { Maybe } from "../../api/validation-values.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { warnOfAddress } from "../generic/address-warnings.js";
import { podNameWarnings } from "../generic/name-warnings.js";
import { WarningList } from "../generic/warning-list.js";
import { warnOfTerm, whyReplaced } from "./node-label-warnings.js";
import type {
  Affinity,
  Container,
  ContainerPort,
  EnvVar,
  PodAffinity,
  PodSpec,
  PodTemplateSpec,
  SeccompProfile,
} from "./pod-types.js";
import { isFraction, warnOfFraction, warnOfVolumes } from "./volume-warnings.js";

type Annotations = Readonly<Record<string, string>>;

export function podWarnings(
  next: ApiObject,
  current: ApiObject | undefined,
  { naming }: Pick<StrategyContext, "naming">,
): readonly string[] {
  if (current !== undefined) return [];
  const { spec = {} } = next as { spec?: PodSpec };
  const found = new PodWarnings(naming, next.metadata.annotations ?? {});
  found.look(spec, "");
  return [...podNameWarnings(next), ...found.texts];
}

/** @param at where the template is, such as "spec.template" */
export function templateWarnings(
  { metadata, spec }: PodTemplateSpec,
  at: string,
  naming: Naming,
): readonly string[] {
  const annotations = metadata?.annotations ?? {};
  const found = new PodWarnings(naming, annotations);
  found.look(spec ?? {}, `${at}.`);
  found.lookAtProfiles(spec ?? {}, `${at}.`);
  return found.texts;
}

class PodWarnings {
  readonly #warnings = new WarningList();
  readonly #naming: Naming;
  readonly #annotations: Annotations;
  /** Most pods have no annotations, and are looked at for nothing then. */
  readonly #hasNone: boolean;

  constructor(naming: Naming, annotations: Annotations) {
    this.#naming = naming;
    this.#annotations = annotations;
    this.#hasNone = Object.keys(annotations).length === 0;
  }

  get texts(): readonly string[] {
    return this.#warnings.texts;
  }

  /** @param prefix of fields: "" or "spec.template." */
  look(spec: PodSpec, prefix: string): void {
    const warnings = this.#warnings;
    const at = `${prefix}spec`;
    this.#lookAtPlaces(spec, at);
    this.#lookAtAnnotations(prefix);
    if (spec.volumes) warnOfVolumes(spec.volumes, `${at}.volumes`, warnings);
    this.#lookAtNames(spec, at);
    for (const name of BYTES) {
      const amount = spec.overhead?.[name];
      if (isFraction(amount)) warnOfFraction(amount, `${at}.overhead[${name}]`, warnings);
    }
    if (!spec.securityContext?.seccompProfile)
      this.#lookAtSeccomp("seccomp.security.alpha", "pod", prefix);
    const ports = new Ports(warnings);
    eachContainer(spec, at, (container, field) => {
      this.#lookAtContainer(container, field, prefix);
      ports.look(container.ports ?? [], `${field}.ports`);
    });
    if (Number(spec.terminationGracePeriodSeconds ?? 0) < 0) {
      warnings.add(
        `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
      );
    }
    this.#lookAtSelectors(spec.affinity ?? {}, `${at}.affinity`);
    (spec.dnsConfig?.nameservers ?? []).forEach((address, index) => {
      warnOfAddress(address, `${at}.dnsConfig.nameservers[${index}]`, warnings);
    });
    (spec.hostAliases ?? []).forEach(({ ip }, index) => {
      warnOfAddress(ip, `${at}.hostAliases[${index}].ip`, warnings);
    });
  }

  /** AppArmor's annotations in templates; in a pod they become the field. */
  lookAtProfiles(spec: PodSpec, prefix: string): void {
    const prefixOfKeys = `container.apparmor.security.beta.${this.#naming.labelDomain}/`;
    if (!Object.keys(this.#annotations).some((key) => key.startsWith(prefixOfKeys))) return;
    const ofPod = spec.securityContext?.appArmorProfile;
    eachContainer(spec, "", ({ name, securityContext }) => {
      const key = `${prefixOfKeys}${name}`;
      const annotation = this.#annotations[key];
      if (annotation === undefined || securityContext?.appArmorProfile) return;
      if (ofPod && annotation === annotationOf(ofPod)) return;
      this.#warnings.add(
        `${prefix}metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
      );
    });
  }

  #lookAtPlaces({ nodeSelector, affinity, topologySpreadConstraints }: PodSpec, at: string): void {
    const warnings = this.#warnings;
    const naming = this.#naming;
    for (const key of Object.keys(nodeSelector ?? {})) {
      const why = whyReplaced(key, naming);
      if (why !== undefined) warnings.add(`${at}.nodeSelector[${key}]: ${why}`);
    }
    const {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    } = affinity?.nodeAffinity ?? {};
    const field = `${at}.affinity.nodeAffinity`;
    (required?.nodeSelectorTerms ?? []).forEach((term, index) => {
      const place = `${field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`;
      warnOfTerm(term, place, { naming, warnings, judgesValues: false });
    });
    (preferred ?? []).forEach(({ preference }, index) => {
      const place = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`;
      warnOfTerm(preference, place, { naming, warnings, judgesValues: true });
    });
    (topologySpreadConstraints ?? []).forEach(({ topologyKey, labelSelector }, index) => {
      const place = `${at}.topologySpreadConstraints[${index}]`;
      const why = whyReplaced(topologyKey, naming);
      if (why !== undefined) warnings.add(`${place}.topologyKey: ${topologyKey} is ${why}`);
      if (!labelSelector) warnings.add(`${place}.labelSelector: ${NO_PODS}`);
    });
  }

  #lookAtAnnotations(prefix: string): void {
    if (this.#hasNone) return;
    const { labelDomain } = this.#naming;
    const gone = [
      ["scheduler.alpha", "critical-pod", "v1.16+", "priorityClassName"],
      ["security.alpha", "sysctls", "v1.11+", "sysctls"],
      ["security.alpha", "unsafe-sysctls", "v1.11+", "sysctls"],
    ] as const;
    for (const [domain, name, since, field] of gone) {
      const key = `${domain}.${labelDomain}/${name}`;
      if (this.#annotations[key] !== undefined) this.#warnOfAnnotation(key, since, field, prefix);
    }
  }

  /** @param domain in front of the vendor's */
  #lookAtSeccomp(domain: string, name: string, prefix: string): void {
    if (this.#hasNone) return;
    const key = `${domain}.${this.#naming.labelDomain}/${name}`;
    if (this.#annotations[key] !== undefined) {
      this.#warnOfAnnotation(key, "v1.27+", "seccompProfile", prefix);
    }
  }

  #warnOfAnnotation(key: string, since: string, field: string, prefix: string): void {
    this.#warnings.add(
      `${prefix}metadata.annotations[${key}]: non-functional in ${since}; use the "${field}" field instead`,
    );
  }

  #lookAtNames({ hostAliases, imagePullSecrets }: PodSpec, at: string): void {
    const warnings = this.#warnings;
    repeated(hostAliases ?? [], ({ ip }) => ip).forEach(([index, ip]) => {
      warnings.add(`${at}.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`);
    });
    const secrets = imagePullSecrets ?? [];
    repeated(secrets, ({ name }) => name ?? "").forEach(([index, name]) => {
      warnings.add(`${at}.imagePullSecrets[${index}].name: duplicate name ${JSON.stringify(name)}`);
    });
    secrets.forEach(({ name }, index) => {
      if ((name ?? "") !== "") return;
      warnings.add(`${at}.imagePullSecrets[${index}].name: invalid empty name ""`);
    });
  }

  #lookAtContainer(container: Container, field: string, prefix: string): void {
    const { name, resources, env, securityContext } = container;
    if (!securityContext?.seccompProfile) {
      this.#lookAtSeccomp("container.seccomp.security.alpha", name, prefix);
    }
    for (const what of BYTES) {
      for (const kind of ["limits", "requests"] as const) {
        const amount = resources?.[kind]?.[what];
        if (!isFraction(amount)) continue;
        warnOfFraction(amount, `${field}.resources.${kind}[${what}]`, this.#warnings);
      }
    }
    repeated(env ?? [], ({ name: variable }) => variable).forEach(([index, variable]) => {
      if (!hides(env?.[index], variable)) return;
      this.#warnings.add(
        `${field}.env[${index}]: hides previous definition of ${JSON.stringify(variable)}, which may be dropped when using apply`,
      );
    });
  }

  #lookAtSelectors({ podAffinity, podAntiAffinity }: Affinity, field: string): void {
    this.#lookAtTerms(podAffinity ?? {}, `${field}.podAffinity`);
    this.#lookAtTerms(podAntiAffinity ?? {}, `${field}.podAntiAffinity`);
  }

  #lookAtTerms(
    {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    }: PodAffinity,
    field: string,
  ): void {
    const warnings = this.#warnings;
    (required ?? []).forEach(({ labelSelector }, index) => {
      const at = `${field}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`;
      if (!labelSelector) warnings.add(`${at}.labelSelector: ${NO_PODS}`);
    });
    (preferred ?? []).forEach(({ podAffinityTerm }, index) => {
      const at = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      if (!podAffinityTerm.labelSelector) {
        warnings.add(`${at}.podAffinityTerm.labelSelector: ${NO_PODS}`);
      }
    });
  }
}

/** Resources that come in whole bytes. */
const BYTES = ["memory", "ephemeral-storage"] as const;
const NO_PODS = "a null labelSelector results in matching no pod";

/** Ports of all containers: those that are the same, or could be. */
class Ports {
  readonly #warnings: WarningList;
  readonly #byNumber = new Map<
    string,
    { readonly field: string; readonly port: ContainerPort }[]
  >();
  readonly #byName = new Map<string, string>();

  constructor(warnings: WarningList) {
    this.#warnings = warnings;
  }

  look(ports: readonly ContainerPort[], field: string): void {
    ports.forEach((port, index) => {
      const at = `${field}[${index}]`;
      const { name = "", containerPort = 0, protocol = "" } = port;
      if (hostIpOf(port) !== "" && hostPortOf(port) === 0) {
        this.#warnings.add(
          `${at}: hostIP set without hostPort: {Name:${name} HostPort:0 ContainerPort:${containerPort} Protocol:${protocol} HostIP:${port.hostIP}}`,
        );
      }
      const key = `${containerPort}/${protocol}`;
      const others = this.#byNumber.get(key);
      if (others === undefined) this.#byNumber.set(key, [{ field: at, port }]);
      else {
        for (const other of others) {
          if (!this.#warnings.spend()) break;
          const how = collision(port, other.port);
          if (how !== undefined) {
            this.#warnings.add(`${at}: ${how} port definition with ${other.field}`);
          }
        }
        others.push({ field: at, port });
      }
      this.#lookAtName(name, at);
    });
  }

  #lookAtName(name: string, at: string): void {
    if (name === "") return;
    const other = this.#byName.get(name);
    if (other === undefined) this.#byName.set(name, at);
    else {
      this.#warnings.add(
        `${at}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`,
      );
    }
  }
}

function collision(port: ContainerPort, other: ContainerPort): string | undefined {
  const [a, b] = [hostPortOf(port), hostPortOf(other)];
  if (hostIpOf(port) === hostIpOf(other) && a === b) return "duplicate";
  if (a === 0 || b === 0) return "overlapping";
  const isAmbiguous = (hostIpOf(port) === "") !== (hostIpOf(other) === "");
  return a === b && isAmbiguous ? "dangerously ambiguous" : undefined;
}

function hostPortOf({ hostPort }: ContainerPort): number {
  return Number(hostPort ?? 0);
}

function hostIpOf({ hostIP }: ContainerPort): string {
  return hostIP ?? "";
}

/** In the order in which rules go: first those that start first. */
function eachContainer(
  spec: PodSpec,
  at: string,
  visit: (container: Container, field: string) => void,
): void {
  for (const kind of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[kind] ?? []).forEach((container, index) => {
      visit(container, `${at}.${kind}[${index}]`);
    });
  }
}

/** The items of a list whose key an earlier one has, with their places. */
function repeated<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): (readonly [index: number, key: string])[] {
  if (items.length < 2) return [];
  const seen = new Set<string>();
  const found: (readonly [number, string])[] = [];
  items.forEach((item, index) => {
    const key = keyOf(item);
    if (seen.has(key)) found.push([index, key]);
    seen.add(key);
  });
  return found;
}

/** Whether a variable takes the place of an earlier one instead of adding to it. */
function hides({ value = "", valueFrom }: EnvVar = { name: "" }, name: string): boolean {
  const reference = `$(${name})`;
  return Boolean(valueFrom) || value === reference || !value.includes(reference);
}

function annotationOf({ type, localhostProfile }: SeccompProfile): string | undefined {
  if (type === "Unconfined") return "unconfined";
  if (type === "RuntimeDefault") return "runtime/default";
  return type === "Localhost" ? `localhost/${localhostProfile ?? ""}` : undefined;
}

/** What an agent reports of a pod's addresses. */
export function podStatusWarnings({ status }: ApiObject): readonly string[] {
  const { podIPs, hostIPs } = (status ?? {}) as {
    podIPs?: Maybe<readonly { ip?: string }[]>;
    hostIPs?: Maybe<readonly { ip?: string }[]>;
  };
  const warnings = new WarningList();
  for (const [name, addresses] of Object.entries({ podIPs, hostIPs })) {
    addresses?.forEach(({ ip = "" }, index) => {
      warnOfAddress(ip, `status.${name}[${index}].ip`, warnings);
    });
  }
  return warnings.texts;
}
