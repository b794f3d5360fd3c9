/** The parts of a pod that the Pod Security Standards check, and the wording of findings. */

export interface SecurityContext {
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number | bigint;
  readonly procMount?: string;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type?: string };
  readonly appArmorProfile?: { readonly type?: string };
  readonly seLinuxOptions?: {
    readonly type?: string;
    readonly user?: string;
    readonly role?: string;
  };
  readonly windowsOptions?: { readonly hostProcess?: boolean };
  readonly sysctls?: readonly { readonly name?: string }[];
}

interface Handler {
  readonly httpGet?: { readonly host?: string };
  readonly tcpSocket?: { readonly host?: string };
}

export interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly securityContext?: SecurityContext;
  readonly ports?: readonly { readonly hostPort?: number }[];
  readonly livenessProbe?: Handler;
  readonly readinessProbe?: Handler;
  readonly startupProbe?: Handler;
  readonly lifecycle?: { readonly postStart?: Handler; readonly preStop?: Handler };
}

export interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly securityContext?: SecurityContext;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly os?: { readonly name?: string };
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

export interface PodParts {
  readonly spec: PodSpec;
  readonly annotations: Readonly<Record<string, string>>;
  /** Domain of well-known annotations. */
  readonly labelDomain: string;
}

/** A violation of a standard by a pod. */
export interface Finding {
  readonly reason: string;
  /** Names the offending containers; "" = the reason is complete. */
  readonly detail: string;
}

/** undefined = no violation. */
export type Check = (pod: PodParts) => Finding | undefined;

export function allContainers({
  initContainers = [],
  containers = [],
  ephemeralContainers = [],
}: PodSpec): readonly Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** Names of the containers that satisfy the test, in their order. */
export function namesOf(spec: PodSpec, test: (container: Container) => boolean): string[] {
  return allContainers(spec)
    .filter(test)
    .map(({ name = "" }) => name);
}

/** `container "a"` or `containers "a", "b"`. */
export function containersText(names: readonly string[]): string {
  return `${plural("container", names.length)} ${quoted(names)}`;
}

/** "pod", the containers, or both; undefined for neither. */
export function settersText(isPod: boolean, containers: readonly string[]): string | undefined {
  const setters = isPod ? ["pod"] : [];
  if (containers.length > 0) setters.push(containersText(containers));
  return setters.length === 0 ? undefined : setters.join(" and ");
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}

export function quoted(values: Iterable<string>): string {
  return [...values].map((value) => JSON.stringify(value)).join(", ");
}

/** Sorted, each once. */
export function distinct(values: Iterable<string>): string[] {
  return [...new Set(values)].sort();
}
