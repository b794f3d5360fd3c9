/**
 * The fields that the simulation reads and writes, of objects that the registry has validated: members have these
 * types or are missing. Only the schema model knows the complete types.
 */

import type { ApiObject, ObjectMeta } from "../api/meta.js";
import type { NodeSelectorTerm, Toleration } from "../registry/core/pod-types.js";
import type { Taint } from "../registry/core/validate-scheduling.js";
import type { LabelSelector } from "../registry/subresources/label-selector.js";

type Maybe<T> = T | null | undefined;

/** Also what a status says of a container, as both have names and images. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  /** Of init containers: "Always" = it runs beside the others. */
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

export interface PodTerm {
  readonly topologyKey: string;
  readonly labelSelector?: Maybe<LabelSelector>;
  readonly namespaces?: Maybe<readonly string[]>;
  readonly namespaceSelector?: Maybe<LabelSelector>;
}

interface PodRules {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: Maybe<readonly PodTerm[]>;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly restartPolicy?: string;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly nodeSelector?: Maybe<Readonly<Record<string, string>>>;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
      };
    };
    readonly podAffinity?: PodRules;
    readonly podAntiAffinity?: PodRules;
  };
  readonly tolerations?: Maybe<readonly Toleration[]>;
  readonly schedulingGates?: Maybe<readonly unknown[]>;
  readonly schedulerName?: string;
  readonly readinessGates?: Maybe<readonly { readonly conditionType: string }[]>;
  readonly hostNetwork?: boolean;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly terminationGracePeriodSeconds?: Maybe<number>;
  readonly volumes?: Maybe<
    readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
    }[]
  >;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: Maybe<string>;
  readonly [field: string]: unknown;
}

export interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly Condition[];
  readonly podIP?: string;
  readonly startTime?: Maybe<string>;
  readonly containerStatuses?: readonly { readonly restartCount?: number }[];
  readonly [field: string]: unknown;
}

export interface Pod extends ApiObject {
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: PodSpec;
}

export interface Node extends ApiObject {
  readonly spec?: {
    readonly taints?: Maybe<readonly Taint[]>;
    readonly unschedulable?: boolean;
    readonly podCIDR?: string;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
}

/** What all that makes pods has. */
export interface Workload<Status = Readonly<Record<string, unknown>>> extends ApiObject {
  readonly spec?: {
    readonly replicas?: Maybe<number>;
    readonly selector?: LabelSelector;
    readonly template?: PodTemplate;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: Maybe<number>;
  };
  readonly status?: Status;
}

export type Amount = number | string;

export interface Deployment extends Workload<{ readonly conditions?: readonly Condition[] }> {
  readonly spec?: NonNullable<Workload["spec"]> & {
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: Maybe<number>;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: Amount; readonly maxUnavailable?: Amount };
    };
  };
}

export interface ReplicaSet
  extends Workload<{
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly conditions?: readonly Condition[];
    readonly observedGeneration?: number;
  }> {}

export interface Updating {
  readonly type?: string;
  readonly rollingUpdate?: { readonly partition?: Maybe<number>; readonly maxUnavailable?: Amount };
}

export interface ClaimTemplate {
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
}

export interface StatefulSet
  extends Workload<{
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  }> {
  readonly spec?: NonNullable<Workload["spec"]> & {
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: Updating;
    readonly volumeClaimTemplates?: Maybe<readonly ClaimTemplate[]>;
    readonly ordinals?: { readonly start?: number };
    readonly persistentVolumeClaimRetentionPolicy?: {
      readonly whenDeleted?: string;
      readonly whenScaled?: string;
    };
  };
}

export interface DaemonSet extends Workload {
  readonly spec?: NonNullable<Workload["spec"]> & { readonly updateStrategy?: Updating };
}
