/**
 * The parts of a pod's specification that validation reads, as the facts of core/v1 describe them.
 * Values are decoded, so members have these types or are missing; only the schema model knows the
 * complete types.
 */
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";

export type Quantities = Readonly<Record<string, string>>;

export interface PodTemplateSpec {
  readonly metadata?: Maybe<{
    readonly labels?: Maybe<Record<string, string>>;
    readonly annotations?: Maybe<Record<string, string>>;
  }>;
  readonly spec?: Maybe<PodSpec>;
}

export interface PodSpec {
  readonly volumes?: Maybe<readonly Volume[]>;
  readonly initContainers?: Maybe<readonly Container[]>;
  readonly containers?: Maybe<readonly Container[]>;
  readonly ephemeralContainers?: Maybe<readonly EphemeralContainer[]>;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: Maybe<Whole>;
  readonly activeDeadlineSeconds?: Maybe<Whole>;
  readonly dnsPolicy?: string;
  readonly nodeSelector?: Maybe<Record<string, string>>;
  readonly imagePullSecrets?: Maybe<readonly { readonly name?: string }[]>;
  readonly serviceAccountName?: string;
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: Maybe<boolean>;
  readonly shareProcessNamespace?: Maybe<boolean>;
  readonly securityContext?: Maybe<PodSecurityContext>;
  readonly hostname?: string;
  readonly hostnameOverride?: Maybe<string>;
  readonly setHostnameAsFQDN?: Maybe<boolean>;
  readonly subdomain?: string;
  readonly affinity?: Maybe<Affinity>;
  readonly tolerations?: Maybe<readonly Toleration[]>;
  readonly hostAliases?: Maybe<
    readonly { readonly ip: string; readonly hostnames?: Maybe<readonly string[]> }[]
  >;
  readonly priorityClassName?: string;
  readonly preemptionPolicy?: Maybe<string>;
  readonly dnsConfig?: Maybe<DnsConfig>;
  readonly readinessGates?: Maybe<readonly { readonly conditionType: string }[]>;
  readonly runtimeClassName?: Maybe<string>;
  readonly overhead?: Maybe<Quantities>;
  readonly topologySpreadConstraints?: Maybe<readonly SpreadConstraint[]>;
  readonly os?: Maybe<{ readonly name: string }>;
  readonly schedulingGates?: Maybe<readonly { readonly name: string }[]>;
  readonly resourceClaims?: Maybe<readonly PodClaim[]>;
  readonly resources?: Maybe<Resources>;
}

export interface PodClaim {
  readonly name: string;
  readonly resourceClaimName?: Maybe<string>;
  readonly resourceClaimTemplateName?: Maybe<string>;
}

export interface DnsConfig {
  readonly nameservers?: Maybe<readonly string[]>;
  readonly searches?: Maybe<readonly string[]>;
  readonly options?: Maybe<readonly { readonly name?: string }[]>;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: Maybe<readonly ContainerPort[]>;
  readonly envFrom?: Maybe<readonly EnvFrom[]>;
  readonly env?: Maybe<readonly EnvVar[]>;
  readonly resources?: Maybe<Resources>;
  readonly resizePolicy?: Maybe<readonly ResizePolicy[]>;
  readonly restartPolicy?: Maybe<string>;
  readonly restartPolicyRules?: Maybe<readonly RestartRule[]>;
  readonly terminationMessagePolicy?: string;
  readonly imagePullPolicy?: string;
  readonly volumeMounts?: Maybe<readonly VolumeMount[]>;
  readonly volumeDevices?: Maybe<readonly { readonly name: string; readonly devicePath: string }[]>;
  readonly livenessProbe?: Maybe<Probe>;
  readonly readinessProbe?: Maybe<Probe>;
  readonly startupProbe?: Maybe<Probe>;
  readonly lifecycle?: Maybe<Lifecycle>;
  readonly securityContext?: Maybe<SecurityContext>;
}

export interface RestartRule {
  readonly action?: string;
  readonly exitCodes?: Maybe<{
    readonly operator?: string;
    readonly values?: Maybe<readonly Whole[]>;
  }>;
}

export interface EphemeralContainer extends Container {
  readonly targetContainerName?: string;
}

export interface Resources {
  readonly limits?: Maybe<Quantities>;
  readonly requests?: Maybe<Quantities>;
  readonly claims?: Maybe<readonly { readonly name: string; readonly request?: string }[]>;
}

export interface ResizePolicy {
  readonly resourceName?: string;
  readonly restartPolicy?: string;
}

export interface ContainerPort {
  readonly name?: string;
  readonly hostPort?: Whole;
  readonly containerPort?: Whole;
  readonly protocol?: string;
  readonly hostIP?: string;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Maybe<{
    readonly fieldRef?: Maybe<FieldRef>;
    readonly resourceFieldRef?: Maybe<ResourceFieldRef>;
    readonly configMapKeyRef?: Maybe<KeyRef>;
    readonly secretKeyRef?: Maybe<KeyRef>;
    readonly fileKeyRef?: Maybe<FileKeyRef>;
  }>;
}

export interface EnvFrom {
  readonly prefix?: string;
  readonly configMapRef?: Maybe<{ readonly name?: string }>;
  readonly secretRef?: Maybe<{ readonly name?: string }>;
}

export interface FieldRef {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: Maybe<string>;
}

export interface KeyRef {
  readonly name?: string;
  readonly key: string;
}

export interface FileKeyRef {
  readonly volumeName: string;
  readonly path: string;
  readonly key: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: Maybe<string>;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: Maybe<string>;
}

export interface Handler {
  readonly exec?: Maybe<{ readonly command?: Maybe<readonly string[]> }>;
  readonly httpGet?: Maybe<{
    readonly path?: string;
    readonly port: Whole | string;
    readonly scheme?: string;
    readonly httpHeaders?: Maybe<readonly { readonly name: string }[]>;
  }>;
  readonly tcpSocket?: Maybe<{ readonly port: Whole | string }>;
  readonly grpc?: Maybe<{ readonly port: Whole }>;
  readonly sleep?: Maybe<{ readonly seconds: Whole }>;
}

export interface Probe extends Handler {
  readonly initialDelaySeconds?: Whole;
  readonly timeoutSeconds?: Whole;
  readonly periodSeconds?: Whole;
  readonly successThreshold?: Whole;
  readonly failureThreshold?: Whole;
  readonly terminationGracePeriodSeconds?: Maybe<Whole>;
}

export interface Lifecycle {
  readonly postStart?: Maybe<Handler>;
  readonly preStop?: Maybe<Handler>;
}

/** Profile of seccomp or AppArmor. */
export interface Profile {
  readonly type: string;
  readonly localhostProfile?: Maybe<string>;
}

export interface SecurityContext {
  readonly capabilities?: Maybe<{ readonly add?: Maybe<readonly string[]> }>;
  readonly privileged?: Maybe<boolean>;
  readonly runAsUser?: Maybe<Whole>;
  readonly runAsGroup?: Maybe<Whole>;
  readonly allowPrivilegeEscalation?: Maybe<boolean>;
  readonly procMount?: Maybe<string>;
  readonly seccompProfile?: Maybe<Profile>;
  readonly appArmorProfile?: Maybe<Profile>;
  readonly windowsOptions?: Maybe<Record<string, unknown>>;
}

export interface PodSecurityContext {
  readonly runAsUser?: Maybe<Whole>;
  readonly runAsGroup?: Maybe<Whole>;
  readonly supplementalGroups?: Maybe<readonly Whole[]>;
  readonly fsGroup?: Maybe<Whole>;
  readonly sysctls?: Maybe<readonly { readonly name: string }[]>;
  readonly seccompProfile?: Maybe<Profile>;
  readonly appArmorProfile?: Maybe<Profile>;
  readonly seLinuxChangePolicy?: Maybe<string>;
  readonly supplementalGroupsPolicy?: Maybe<string>;
  readonly fsGroupChangePolicy?: Maybe<string>;
  readonly windowsOptions?: Maybe<Record<string, unknown>>;
}

export interface Affinity {
  readonly nodeAffinity?: Maybe<{
    readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<NodeSelector>;
    readonly preferredDuringSchedulingIgnoredDuringExecution?: Maybe<
      readonly { readonly weight: Whole; readonly preference: NodeSelectorTerm }[]
    >;
  }>;
  readonly podAffinity?: Maybe<PodAffinity>;
  readonly podAntiAffinity?: Maybe<PodAffinity>;
}

export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<readonly PodAffinityTerm[]>;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: Maybe<
    readonly { readonly weight: Whole; readonly podAffinityTerm: PodAffinityTerm }[]
  >;
}

export interface PodAffinityTerm {
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly namespaces?: Maybe<readonly string[]>;
  readonly topologyKey: string;
  readonly matchLabelKeys?: Maybe<readonly string[]>;
  readonly mismatchLabelKeys?: Maybe<readonly string[]>;
}

export interface NodeSelector {
  readonly nodeSelectorTerms?: Maybe<readonly NodeSelectorTerm[]>;
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: Maybe<readonly NodeRequirement[]>;
  readonly matchFields?: Maybe<readonly NodeRequirement[]>;
}

export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: Maybe<readonly string[]>;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: Maybe<Whole>;
}

export interface SpreadConstraint {
  readonly maxSkew: Whole;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly minDomains?: Maybe<Whole>;
  readonly matchLabelKeys?: Maybe<readonly string[]>;
  readonly nodeAffinityPolicy?: Maybe<string>;
  readonly nodeTaintsPolicy?: Maybe<string>;
}

/** Its members besides the name are its sources; exactly one must be set. */
export interface Volume {
  readonly name: string;
  readonly [source: string]: unknown;
}
