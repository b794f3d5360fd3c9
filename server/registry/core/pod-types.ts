/**
 * The shape of a pod template: decoded values have these types, or are missing. Derived from the facts of core/v1, and not
 * edited by hand: `node dist/server/types/testing/write-pod-types.js`.
 */
import type { ObjectMeta } from "../../api/meta.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import type { Maybe, Whole } from "../../api/validation-values.js";

export type ResourceList = Readonly<Record<string, string>>;

/** Its members besides the name are its sources; exactly one must be set. */
export interface Volume {
  readonly name: string;
  readonly [source: string]: unknown;
}

export interface PodTemplateSpec {
  readonly metadata?: Maybe<ObjectMeta>;
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
  readonly serviceAccountName?: string;
  readonly serviceAccount?: string;
  readonly automountServiceAccountToken?: Maybe<boolean>;
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly shareProcessNamespace?: Maybe<boolean>;
  readonly securityContext?: Maybe<PodSecurityContext>;
  readonly imagePullSecrets?: Maybe<readonly LocalObjectReference[]>;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly affinity?: Maybe<Affinity>;
  readonly schedulerName?: string;
  readonly tolerations?: Maybe<readonly Toleration[]>;
  readonly hostAliases?: Maybe<readonly HostAlias[]>;
  readonly priorityClassName?: string;
  readonly priority?: Maybe<Whole>;
  readonly dnsConfig?: Maybe<PodDNSConfig>;
  readonly readinessGates?: Maybe<readonly PodReadinessGate[]>;
  readonly runtimeClassName?: Maybe<string>;
  readonly enableServiceLinks?: Maybe<boolean>;
  readonly preemptionPolicy?: Maybe<string>;
  readonly overhead?: Maybe<ResourceList>;
  readonly topologySpreadConstraints?: Maybe<readonly TopologySpreadConstraint[]>;
  readonly setHostnameAsFQDN?: Maybe<boolean>;
  readonly os?: Maybe<PodOS>;
  readonly hostUsers?: Maybe<boolean>;
  readonly schedulingGates?: Maybe<readonly PodSchedulingGate[]>;
  readonly resourceClaims?: Maybe<readonly PodResourceClaim[]>;
  readonly resources?: Maybe<ResourceRequirements>;
  readonly hostnameOverride?: Maybe<string>;
  readonly schedulingGroup?: Maybe<PodSchedulingGroup>;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: Maybe<readonly string[]>;
  readonly args?: Maybe<readonly string[]>;
  readonly workingDir?: string;
  readonly ports?: Maybe<readonly ContainerPort[]>;
  readonly envFrom?: Maybe<readonly EnvFromSource[]>;
  readonly env?: Maybe<readonly EnvVar[]>;
  readonly resources?: Maybe<ResourceRequirements>;
  readonly resizePolicy?: Maybe<readonly ContainerResizePolicy[]>;
  readonly restartPolicy?: Maybe<string>;
  readonly restartPolicyRules?: Maybe<readonly ContainerRestartRule[]>;
  readonly volumeMounts?: Maybe<readonly VolumeMount[]>;
  readonly volumeDevices?: Maybe<readonly VolumeDevice[]>;
  readonly livenessProbe?: Maybe<Probe>;
  readonly readinessProbe?: Maybe<Probe>;
  readonly startupProbe?: Maybe<Probe>;
  readonly lifecycle?: Maybe<Lifecycle>;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly imagePullPolicy?: string;
  readonly securityContext?: Maybe<SecurityContext>;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}

export interface EphemeralContainer extends EphemeralContainerCommon {
  readonly targetContainerName?: string;
}

export interface PodSecurityContext {
  readonly seLinuxOptions?: Maybe<SELinuxOptions>;
  readonly windowsOptions?: Maybe<WindowsSecurityContextOptions>;
  readonly runAsUser?: Maybe<Whole>;
  readonly runAsGroup?: Maybe<Whole>;
  readonly runAsNonRoot?: Maybe<boolean>;
  readonly supplementalGroups?: Maybe<readonly Whole[]>;
  readonly supplementalGroupsPolicy?: Maybe<string>;
  readonly fsGroup?: Maybe<Whole>;
  readonly sysctls?: Maybe<readonly Sysctl[]>;
  readonly fsGroupChangePolicy?: Maybe<string>;
  readonly seccompProfile?: Maybe<SeccompProfile>;
  readonly appArmorProfile?: Maybe<AppArmorProfile>;
  readonly seLinuxChangePolicy?: Maybe<string>;
}

export interface LocalObjectReference {
  readonly name?: string;
}

export interface Affinity {
  readonly nodeAffinity?: Maybe<NodeAffinity>;
  readonly podAffinity?: Maybe<PodAffinity>;
  readonly podAntiAffinity?: Maybe<PodAntiAffinity>;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: Maybe<Whole>;
}

export interface HostAlias {
  readonly ip: string;
  readonly hostnames?: Maybe<readonly string[]>;
}

export interface PodDNSConfig {
  readonly nameservers?: Maybe<readonly string[]>;
  readonly searches?: Maybe<readonly string[]>;
  readonly options?: Maybe<readonly PodDNSConfigOption[]>;
}

export interface PodReadinessGate {
  readonly conditionType: string;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: Whole;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly minDomains?: Maybe<Whole>;
  readonly nodeAffinityPolicy?: Maybe<string>;
  readonly nodeTaintsPolicy?: Maybe<string>;
  readonly matchLabelKeys?: Maybe<readonly string[]>;
}

export interface PodOS {
  readonly name: string;
}

export interface PodSchedulingGate {
  readonly name: string;
}

export interface PodResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: Maybe<string>;
  readonly resourceClaimTemplateName?: Maybe<string>;
}

export interface ResourceRequirements {
  readonly limits?: Maybe<ResourceList>;
  readonly requests?: Maybe<ResourceList>;
  readonly claims?: Maybe<readonly ResourceClaim[]>;
}

export interface PodSchedulingGroup {
  readonly podGroupName?: Maybe<string>;
}

export interface ContainerPort {
  readonly name?: string;
  readonly hostPort?: Whole;
  readonly containerPort: Whole;
  readonly protocol?: string;
  readonly hostIP?: string;
}

export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: Maybe<ConfigMapEnvSource>;
  readonly secretRef?: Maybe<SecretEnvSource>;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Maybe<EnvVarSource>;
}

export interface ContainerResizePolicy {
  readonly resourceName: string;
  readonly restartPolicy: string;
}

export interface ContainerRestartRule {
  readonly action?: string;
  readonly exitCodes?: Maybe<ContainerRestartRuleOnExitCodes>;
}

export interface VolumeMount {
  readonly name: string;
  readonly readOnly?: boolean;
  readonly recursiveReadOnly?: Maybe<string>;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly mountPropagation?: Maybe<string>;
  readonly subPathExpr?: string;
}

export interface VolumeDevice {
  readonly name: string;
  readonly devicePath: string;
}

export interface Probe extends ProbeHandler {
  readonly initialDelaySeconds?: Whole;
  readonly timeoutSeconds?: Whole;
  readonly periodSeconds?: Whole;
  readonly successThreshold?: Whole;
  readonly failureThreshold?: Whole;
  readonly terminationGracePeriodSeconds?: Maybe<Whole>;
}

export interface Lifecycle {
  readonly postStart?: Maybe<LifecycleHandler>;
  readonly preStop?: Maybe<LifecycleHandler>;
  readonly stopSignal?: Maybe<string>;
}

export interface SecurityContext {
  readonly capabilities?: Maybe<Capabilities>;
  readonly privileged?: Maybe<boolean>;
  readonly seLinuxOptions?: Maybe<SELinuxOptions>;
  readonly windowsOptions?: Maybe<WindowsSecurityContextOptions>;
  readonly runAsUser?: Maybe<Whole>;
  readonly runAsGroup?: Maybe<Whole>;
  readonly runAsNonRoot?: Maybe<boolean>;
  readonly readOnlyRootFilesystem?: Maybe<boolean>;
  readonly allowPrivilegeEscalation?: Maybe<boolean>;
  readonly procMount?: Maybe<string>;
  readonly seccompProfile?: Maybe<SeccompProfile>;
  readonly appArmorProfile?: Maybe<AppArmorProfile>;
}

export type EphemeralContainerCommon = Container;

export interface SELinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

export interface WindowsSecurityContextOptions {
  readonly gmsaCredentialSpecName?: Maybe<string>;
  readonly gmsaCredentialSpec?: Maybe<string>;
  readonly runAsUserName?: Maybe<string>;
  readonly hostProcess?: Maybe<boolean>;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}

export interface SeccompProfile {
  readonly type: string;
  readonly localhostProfile?: Maybe<string>;
}

export interface AppArmorProfile {
  readonly type: string;
  readonly localhostProfile?: Maybe<string>;
}

export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<NodeSelector>;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: Maybe<
    readonly PreferredSchedulingTerm[]
  >;
}

export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<readonly PodAffinityTerm[]>;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: Maybe<
    readonly WeightedPodAffinityTerm[]
  >;
}

export interface PodAntiAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<readonly PodAffinityTerm[]>;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: Maybe<
    readonly WeightedPodAffinityTerm[]
  >;
}

export interface PodDNSConfigOption {
  readonly name?: string;
  readonly value?: Maybe<string>;
}

export interface ResourceClaim {
  readonly name: string;
  readonly request?: string;
}

export interface ConfigMapEnvSource extends LocalObjectReference {
  readonly optional?: Maybe<boolean>;
}

export interface SecretEnvSource extends LocalObjectReference {
  readonly optional?: Maybe<boolean>;
}

export interface EnvVarSource {
  readonly fieldRef?: Maybe<ObjectFieldSelector>;
  readonly resourceFieldRef?: Maybe<ResourceFieldSelector>;
  readonly configMapKeyRef?: Maybe<ConfigMapKeySelector>;
  readonly secretKeyRef?: Maybe<SecretKeySelector>;
  readonly fileKeyRef?: Maybe<FileKeySelector>;
}

export interface ContainerRestartRuleOnExitCodes {
  readonly operator?: string;
  readonly values?: Maybe<readonly Whole[]>;
}

export interface ProbeHandler {
  readonly exec?: Maybe<ExecAction>;
  readonly httpGet?: Maybe<HTTPGetAction>;
  readonly tcpSocket?: Maybe<TCPSocketAction>;
  readonly grpc?: Maybe<GRPCAction>;
}

export interface LifecycleHandler {
  readonly exec?: Maybe<ExecAction>;
  readonly httpGet?: Maybe<HTTPGetAction>;
  readonly tcpSocket?: Maybe<TCPSocketAction>;
  readonly sleep?: Maybe<SleepAction>;
}

export interface Capabilities {
  readonly add?: Maybe<readonly string[]>;
  readonly drop?: Maybe<readonly string[]>;
}

export interface NodeSelector {
  readonly nodeSelectorTerms?: Maybe<readonly NodeSelectorTerm[]>;
}

export interface PreferredSchedulingTerm {
  readonly weight: Whole;
  readonly preference: NodeSelectorTerm;
}

export interface PodAffinityTerm {
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly namespaces?: Maybe<readonly string[]>;
  readonly topologyKey: string;
  readonly namespaceSelector?: Maybe<LabelSelector>;
  readonly matchLabelKeys?: Maybe<readonly string[]>;
  readonly mismatchLabelKeys?: Maybe<readonly string[]>;
}

export interface WeightedPodAffinityTerm {
  readonly weight: Whole;
  readonly podAffinityTerm: PodAffinityTerm;
}

export interface ObjectFieldSelector {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

export interface ResourceFieldSelector {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: Maybe<string>;
}

export interface ConfigMapKeySelector extends LocalObjectReference {
  readonly key: string;
  readonly optional?: Maybe<boolean>;
}

export interface SecretKeySelector extends LocalObjectReference {
  readonly key: string;
  readonly optional?: Maybe<boolean>;
}

export interface FileKeySelector {
  readonly volumeName: string;
  readonly path: string;
  readonly key: string;
  readonly optional?: Maybe<boolean>;
}

export interface ExecAction {
  readonly command?: Maybe<readonly string[]>;
}

export interface HTTPGetAction {
  readonly path?: string;
  readonly port: Whole | string;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: Maybe<readonly HTTPHeader[]>;
}

export interface TCPSocketAction {
  readonly port: Whole | string;
  readonly host?: string;
}

export interface GRPCAction {
  readonly port: Whole;
  readonly service?: Maybe<string>;
}

export interface SleepAction {
  readonly seconds: Whole;
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: Maybe<readonly NodeSelectorRequirement[]>;
  readonly matchFields?: Maybe<readonly NodeSelectorRequirement[]>;
}

export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: Maybe<readonly string[]>;
}
