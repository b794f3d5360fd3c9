/**
 * The checks that the facts alone decide: required fields and closed sets of values, compiled per
 * type (S1-FV-02). Go's types cannot tell a missing value from a zero, so only strings, lists, maps
 * and pointers can be missing, and the hand-written validation of the existing system accepts some of
 * these empty (NOT_REQUIRED). Status is reported by controllers and metadata checked by the registry.
 */

import { sortTexts } from "../../storage/base/compare-texts.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { FieldError } from "../api/status.js";
import type { Field, SchemaModel, StructType, TypeRef } from "./model.js";
import { flatFields, followAliases, innerStruct } from "./struct-codec.js";
import { prefixPaths } from "./value-codec.js";

/** Fields that look required but may be empty: "<group>.<Type>.<field>". */
export const NOT_REQUIRED: ReadonlySet<string> = new Set([
  "apps.DaemonSetSpec.selector", // none takes no pod, so that its template is refused
  "authentication.TokenReviewSpec.token", // refused with 400 by its resource
  "batch.PodFailurePolicy.rules",
  "batch.SuccessPolicy.rules", // refused where the policy is read
  "certificates.PodCertificateRequestSpec.stubPKCS10Request",
  "core.ComponentCondition.status",
  "core.ComponentCondition.type",
  "core.ConfigMapNodeConfigSource.kubeletConfigKey",
  "core.ConfigMapNodeConfigSource.name",
  "core.ConfigMapNodeConfigSource.namespace",
  "core.EndpointAddress.ip", // refused as an address
  "core.LimitRangeSpec.limits",
  "core.NodeSelector.nodeSelectorTerms", // refused where a rule reads the selector
  "core.NodeSelectorRequirement.key",
  "core.NodeSelectorRequirement.operator",
  "core.PodSchedulingGate.name", // refused as a name, where the gate stands
  "core.ScopedResourceSelectorRequirement.operator", // refused as what it is not
  "core.ScopedResourceSelectorRequirement.scopeName",
  "core.Sysctl.value",
  "core.Taint.effect", // refused where kube-apiserver says that taints stand
  "core.Taint.key",
  "flowcontrol.GroupSubject.name", // refused where the subject is of that kind
  "flowcontrol.LimitResponse.type", // refused where the level may have one
  "flowcontrol.ServiceAccountSubject.name",
  "flowcontrol.ServiceAccountSubject.namespace",
  "flowcontrol.UserSubject.name",
  "meta.GroupResource.group", // "" is the core group
  "meta.LabelSelectorRequirement.key", // refused where a rule reads the selector
  "meta.LabelSelectorRequirement.operator",
  "resource.CapacityRequestPolicyRange.min", // refused where the policy may stand
  "storage.CSINodeSpec.drivers",
  "storage.CSIStorageCapacity.storageClassName", // refused as a name
  "storage.TokenRequest.audience", // "" is the API server's own
]);

/** Closed sets that handwritten validation checks, because the rule depends on another field or has another message. */
export const JUDGED_BY_HAND: ReadonlySet<string> = new Set([
  "apps.DaemonSetUpdateStrategy.type",
  "apps.DeploymentStrategy.type",
  "apps.StatefulSetSpec.podManagementPolicy",
  "apps.StatefulSetUpdateStrategy.type",
  "batch.JobSpec.completionMode",
  "core.NodeSelectorRequirement.operator",
  "core.ResourceQuotaSpec.scopes",
  "core.ScopedResourceSelectorRequirement.operator",
  "core.ScopedResourceSelectorRequirement.scopeName",
  "core.ServiceSpec.externalTrafficPolicy",
  "core.ServiceSpec.ipFamilies",
  "core.ServiceSpec.ipFamilyPolicy",
  "core.Taint.effect",
  "scheduling.PriorityClass.preemptionPolicy",
  "storage.StorageClass.reclaimPolicy", // an empty one is as good as none
]);

/** Types that other code checks: what they need depends on more than the field, and is reported elsewhere. */
const SKIPPED: ReadonlySet<string> = new Set([
  "meta.v1.ObjectMeta",
  "meta.v1.ListMeta",
  "core.v1.PodSpec",
  "core.v1.PersistentVolumeSpec",
  "core.v1.PersistentVolumeClaimSpec",
  "core.v1.PersistentVolumeClaimStatus", // a template may carry one, which means nothing
]);

interface Problem {
  reason: FieldError["reason"];
  message: string;
}

/** Reports problems and their paths, relative to the value, in two lists of the same length. */
type Check = (value: JsonValue, problems: Problem[], paths: string[]) => void;

/** Returns the compiled check of a kind. */
export function createChecks(model: SchemaModel) {
  const compiled = new Map<StructType, Check | undefined>();

  function structCheck(type: StructType, isKindItself: boolean): Check | undefined {
    if (SKIPPED.has(type.id) || type.customJson) return undefined;
    if (!isKindItself && compiled.has(type)) return compiled.get(type);
    let fields: readonly FieldCheck[] | undefined;
    const check: Check = (value, problems, paths) => {
      fields ??= fieldChecks(type, isKindItself);
      for (const field of fields) field(value as JsonObject, problems, paths);
    };
    const isMoot = isKindItself ? false : !findsAnything(type, new Set());
    const result = isMoot ? undefined : check;
    if (!isKindItself) compiled.set(type, result);
    return result;
  }

  /** Whether any value of the type can fail a check. */
  function findsAnything(type: StructType, met: Set<StructType>): boolean {
    if (met.has(type) || SKIPPED.has(type.id) || type.customJson) return false;
    met.add(type);
    return flatFields(model, type).some((field) => {
      if (isRequired(model, type, field) || enumOf(model, field.type) !== undefined) return true;
      const inner = innerStruct(model, field.type);
      return inner !== undefined && findsAnything(inner, met);
    });
  }

  type FieldCheck = (value: JsonObject, problems: Problem[], paths: string[]) => void;

  function fieldChecks(type: StructType, isKindItself: boolean): readonly FieldCheck[] {
    return flatFields(model, type).flatMap((field) => {
      if (isKindItself && field.name === "status") return [];
      const required = isRequired(model, type, field);
      const isOthers = JUDGED_BY_HAND.has(qualifiedName(type, field));
      const inner = isOthers ? undefined : valueCheck(field.type);
      return required || inner !== undefined ? [fieldCheck(field, required, inner)] : [];
    });
  }

  /** @param isItem no item of a list or map is absent */
  function valueCheck(ref: TypeRef, isItem = false): Check | undefined {
    const target = followAliases(model, ref);
    if (target.kind === "list") return listCheck(valueCheck(target.items, true));
    if (target.kind === "map") return mapCheck(valueCheck(target.values, true));
    if (target.kind !== "named") return undefined;
    const type = model.type(target.id);
    if (type?.form === "struct") return structCheck(type, false);
    return type?.form === "enum" && type.closed
      ? enumCheck(type.values, isItem || ref.nullable)
      : undefined;
  }

  return (type: StructType): ((object: JsonObject) => FieldError[]) => {
    const check = structCheck(type, true);
    return (object) => {
      const problems: Problem[] = [];
      const paths: string[] = [];
      check?.(object, problems, paths);
      return problems.map(({ reason, message }, index) => ({
        reason,
        field: paths[index] ?? "",
        message,
      }));
    };
  };
}

function enumOf(model: SchemaModel, ref: TypeRef): readonly string[] | undefined {
  const target = followAliases(model, ref);
  if (target.kind === "list") return enumOf(model, target.items);
  const type = target.kind === "named" ? model.type(target.id) : undefined;
  return type?.form === "enum" && type.closed ? type.values : undefined;
}

/** Whether an empty value of the field is certainly an error. */
function isRequired(model: SchemaModel, type: StructType, field: Field): boolean {
  return !NOT_REQUIRED.has(qualifiedName(type, field)) && looksRequired(model, type, field);
}

/** As the sets above have it: "<group>.<Type>.<field>". */
function qualifiedName(type: StructType, field: Field): string {
  return `${type.file.split(".")[0]}.${type.name}.${field.name}`;
}

/** Whether the facts make a field required. Embedded fields count for the given type. */
export function looksRequired(model: SchemaModel, type: StructType, field: Field): boolean {
  if (type.customJson) return false;
  const target = followAliases(model, field.type);
  const isMarked = field.requirement === "required";
  if (!isMarked && (field.requirement !== "none" || field.empty !== "always")) return false;
  if (field.type.nullable) return true;
  switch (target.kind) {
    case "list":
      return true;
    case "map":
      return isMarked;
    case "scalar":
      return target.name === "string" || target.name === "bytes";
    case "named":
      return model.type(target.id)?.form === "enum";
    case "builtin":
      return false;
  }
}

function isMissing(value: JsonValue | undefined, isPointer: boolean): boolean {
  if (value === undefined || value === null) return true;
  // A pointer may name the empty text.
  if (value === "") return !isPointer;
  return typeof value === "object" && isEmptyContainer(value);
}

function isEmptyContainer(value: object): boolean {
  return Array.isArray(value) && value.length === 0;
}

function fieldCheck({ name, type }: Field, required: boolean, inner: Check | undefined) {
  return (value: JsonObject, problems: Problem[], paths: string[]): void => {
    const member = value[name];
    if (required && isMissing(member, type.nullable)) {
      problems.push({ reason: "FieldValueRequired", message: "Required value" });
      paths.push(name);
      return;
    }
    if (inner === undefined || member === undefined || member === null) return;
    const before = paths.length;
    inner(member, problems, paths);
    if (paths.length > before) prefix(paths, before, name);
  };
}

/** A value's own path is "", so its field's name is the whole path. */
function prefix(paths: string[], from: number, segment: string): void {
  for (let index = from; index < paths.length; index++) {
    if (paths[index] === "") paths[index] = segment;
    else {
      const one = [paths[index] ?? ""];
      prefixPaths(one, 0, segment);
      paths[index] = one[0] ?? "";
    }
  }
}

function listCheck(item: Check | undefined): Check | undefined {
  if (item === undefined) return undefined;
  return (value, problems, paths) => {
    for (const [index, member] of (value as JsonValue[]).entries()) {
      const before = paths.length;
      if (member !== null) item(member, problems, paths);
      if (paths.length > before) prefix(paths, before, `[${index}]`);
    }
  };
}

function mapCheck(item: Check | undefined): Check | undefined {
  if (item === undefined) return undefined;
  return (value, problems, paths) => {
    for (const [key, member] of Object.entries(value as JsonObject)) {
      const before = paths.length;
      if (member !== undefined && member !== null) item(member, problems, paths);
      if (paths.length > before) prefix(paths, before, `[${key}]`);
    }
  };
}

/** @param isValue whether an empty text is one; else it counts as absent */
function enumCheck(values: readonly string[], isValue: boolean): Check {
  const allowed = new Set(values);
  const listed = sortTexts([...values]).map((value) => JSON.stringify(value));
  return (value, problems, paths) => {
    if (typeof value !== "string" || allowed.has(value) || (value === "" && !isValue)) return;
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${listed.join(", ")}`;
    problems.push({ reason: "FieldValueNotSupported", message });
    paths.push("");
  };
}
