/**
 * The kinds of the resource group as TypeScript sees them: devices, claims of devices, and classes.
 * The facts have decoded the objects, so each member has its type, is null or is missing.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Condition } from "../../api/validation-conditions.js";
import type { Maybe, Whole } from "../../api/validation-values.js";
import type { NodeSelector } from "../core/pod-types.js";

export interface Selector {
  readonly cel?: Maybe<{ readonly expression?: string }>;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** What a request for devices of one class asks for; a sub-request has a name as well. */
export interface ExactRequest {
  readonly name?: string;
  readonly deviceClassName?: string;
  readonly selectors?: Maybe<readonly Selector[]>;
  readonly allocationMode?: string;
  readonly count?: Whole;
  readonly adminAccess?: Maybe<boolean>;
  readonly tolerations?: Maybe<readonly Toleration[]>;
}

export interface DeviceRequest {
  readonly name?: string;
  readonly exactly?: Maybe<ExactRequest>;
  readonly firstAvailable?: Maybe<readonly ExactRequest[]>;
}

export interface DeviceConstraint {
  readonly requests?: Maybe<readonly string[]>;
  readonly matchAttribute?: Maybe<string>;
  readonly distinctAttribute?: Maybe<string>;
}

/** Settings for a driver, as only the driver knows them. */
export interface DeviceConfiguration {
  readonly opaque?: Maybe<{ readonly driver?: string; readonly parameters?: unknown }>;
}

export interface RequestConfiguration extends DeviceConfiguration {
  readonly requests?: Maybe<readonly string[]>;
}

export interface DeviceClaim {
  readonly requests?: Maybe<readonly DeviceRequest[]>;
  readonly constraints?: Maybe<readonly DeviceConstraint[]>;
  readonly config?: Maybe<readonly RequestConfiguration[]>;
}

export interface ClaimSpec {
  readonly devices?: Maybe<DeviceClaim>;
}

/** Names a device, or a share of one. */
export interface DeviceIdentity {
  readonly driver?: string;
  readonly pool?: string;
  readonly device?: string;
  readonly shareID?: Maybe<string>;
}

export interface AllocatedDevice extends DeviceIdentity {
  readonly request?: string;
  readonly adminAccess?: Maybe<boolean>;
  readonly bindingConditions?: Maybe<readonly string[]>;
  readonly bindingFailureConditions?: Maybe<readonly string[]>;
}

export interface AllocatedConfiguration extends RequestConfiguration {
  readonly source?: string;
}

export interface Allocation {
  readonly devices?: Maybe<{
    readonly results?: Maybe<readonly AllocatedDevice[]>;
    readonly config?: Maybe<readonly AllocatedConfiguration[]>;
  }>;
  readonly nodeSelector?: Maybe<NodeSelector>;
}

export interface Consumer {
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly uid?: string;
}

export interface DeviceStatus extends DeviceIdentity {
  readonly conditions?: Maybe<readonly Condition[]>;
  readonly data?: unknown;
  readonly networkData?: Maybe<{
    readonly interfaceName?: string;
    readonly ips?: Maybe<readonly string[]>;
    readonly hardwareAddress?: string;
  }>;
}

export interface ClaimStatus {
  readonly allocation?: Maybe<Allocation>;
  readonly reservedFor?: Maybe<readonly Consumer[]>;
  readonly devices?: Maybe<readonly DeviceStatus[]>;
}

export interface ResourceClaim extends ApiObject {
  readonly spec?: ClaimSpec;
  readonly status?: ClaimStatus;
}

export interface ResourceClaimTemplate extends ApiObject {
  readonly spec?: { readonly metadata?: ApiObject["metadata"]; readonly spec?: ClaimSpec };
}

export interface DeviceTaint {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly timeAdded?: Maybe<string>;
}

export interface DeviceClass extends ApiObject {
  readonly spec?: {
    readonly selectors?: Maybe<readonly Selector[]>;
    readonly config?: Maybe<readonly DeviceConfiguration[]>;
    readonly extendedResourceName?: Maybe<string>;
  };
}

export interface DeviceTaintRule extends ApiObject {
  readonly spec?: {
    readonly deviceSelector?: Maybe<{
      readonly driver?: Maybe<string>;
      readonly pool?: Maybe<string>;
      readonly device?: Maybe<string>;
    }>;
    readonly taint?: DeviceTaint;
  };
  readonly status?: { readonly conditions?: Maybe<readonly Condition[]> };
}

export interface RequestPolicy {
  readonly default?: Maybe<string>;
  readonly validValues?: Maybe<readonly string[]>;
  readonly validRange?: Maybe<{
    readonly min?: Maybe<string>;
    readonly max?: Maybe<string>;
    readonly step?: Maybe<string>;
  }>;
}

export interface DeviceCapacity {
  readonly value?: string;
  readonly requestPolicy?: Maybe<RequestPolicy>;
}

/** One of these has a value. */
export interface DeviceAttribute {
  readonly int?: Maybe<Whole>;
  readonly bool?: Maybe<boolean>;
  readonly string?: Maybe<string>;
  readonly version?: Maybe<string>;
  readonly ints?: Maybe<readonly Whole[]>;
  readonly bools?: Maybe<readonly boolean[]>;
  readonly strings?: Maybe<readonly string[]>;
  readonly versions?: Maybe<readonly string[]>;
}

export interface Counters {
  readonly counters?: Maybe<Readonly<Record<string, unknown>>>;
}

export interface NodeChoice {
  readonly nodeName?: Maybe<string>;
  readonly nodeSelector?: Maybe<NodeSelector>;
  readonly allNodes?: Maybe<boolean>;
}

export interface Device extends NodeChoice {
  readonly name?: string;
  readonly attributes?: Maybe<Readonly<Record<string, DeviceAttribute>>>;
  readonly capacity?: Maybe<Readonly<Record<string, DeviceCapacity>>>;
  readonly consumesCounters?: Maybe<readonly (Counters & { readonly counterSet?: string })[]>;
  readonly taints?: Maybe<readonly DeviceTaint[]>;
  readonly bindingConditions?: Maybe<readonly string[]>;
  readonly bindingFailureConditions?: Maybe<readonly string[]>;
  readonly allowMultipleAllocations?: Maybe<boolean>;
  readonly nodeAllocatableResourceMappings?: Maybe<Readonly<Record<string, unknown>>>;
}

export interface SliceSpec extends NodeChoice {
  readonly driver?: string;
  readonly pool?: {
    readonly name?: string;
    readonly generation?: Whole;
    readonly resourceSliceCount?: Whole;
  };
  readonly perDeviceNodeSelection?: Maybe<boolean>;
  readonly devices?: Maybe<readonly Device[]>;
  readonly sharedCounters?: Maybe<readonly (Counters & { readonly name?: string })[]>;
}

export interface ResourceSlice extends ApiObject {
  readonly spec?: SliceSpec;
}

/** Equal for the same device, or the same share of it. */
export function identityKey({ driver, pool, device, shareID }: DeviceIdentity): string {
  return JSON.stringify([driver ?? "", pool ?? "", device ?? "", shareID ?? ""]);
}
