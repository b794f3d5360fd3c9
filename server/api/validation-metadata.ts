/**
 * Rules for the `metadata` of all types (S1-META-01, S1-META-15, S1-META-17), with kube-apiserver's
 * messages and reasons. Pure functions; the registry handles fields that clients may not set before
 * they run.
 */

import { forbiddenField, invalidValue, requiredValue, tooLongValue } from "./field-errors.js";
import { eachItem, eachMember, type LongWork, type RuleUse } from "./long-work.js";
import type { ObjectMeta, OwnerReference } from "./meta.js";
import { parseGroupVersion } from "./names.js";
import { Problems } from "./problems.js";
import type { FieldError } from "./status.js";
import {
  checkDnsLabelName,
  checkDnsSubdomainName,
  checkLabelValue,
  checkQualifiedName,
  type NameCheck,
} from "./validation-names.js";

/** All keys and values of the annotations together (S1-META-17). */
export const ANNOTATIONS_BYTES_MAX = 256 * 1024;

/**
 * Limit for the few types that allow any name; other types have lower limits. kube-apiserver leaves it to
 * etcd, but the embedded store's keys are bounded, and both stores must accept the same names.
 */
const NAME_BYTES_MAX = 1024;

/** Each of these problems shows all references, so a long list would be answered by its square. */
const CONTROLLER_PROBLEMS_MAX = 5;

const CONTROL_CHARACTER = /\p{Cc}/u;

/** Finalizers that need no domain in front. */
export const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion"]);

export interface MetadataRules {
  readonly isNamespaced: boolean;
  /** The type's check of names; default: a DNS subdomain. */
  readonly checkName?: NameCheck | undefined;
  /** The namespace controller's finalizer, which has no domain. */
  readonly namespaceFinalizer: string;
  /** "any": also finalizers without a domain, which custom kinds may have. */
  readonly finalizers?: "any" | undefined;
  /** Takes long lists and maps of a large object; absent = they are looked at at once. */
  readonly long?: LongWork | undefined;
}

/** All errors in the metadata of an object to be stored. */
export function validateMetadata(meta: ObjectMeta, rules: MetadataRules): FieldError[] {
  const errors = new Problems();
  validateNames(meta, rules, errors);
  if (meta.generation !== undefined && meta.generation < 0) {
    errors.push(
      invalidValue("metadata.generation", meta.generation, "must be greater than or equal to 0"),
    );
  }
  const { long } = rules;
  if (meta.labels !== undefined) validateLabels(meta.labels, "metadata.labels", errors, long);
  if (meta.annotations !== undefined) {
    validateAnnotations(meta.annotations, "metadata.annotations", errors, long);
  }
  if (meta.ownerReferences !== undefined) {
    validateOwnerReferences(meta.ownerReferences, { errors, long });
  }
  if (meta.finalizers !== undefined) {
    validateFinalizers(meta.finalizers, rules, errors);
  }
  return errors;
}

/** All forbidden changes to the metadata of an existing object. */
export function validateMetadataUpdate(next: ObjectMeta, current: ObjectMeta): FieldError[] {
  const errors = new Problems();
  if (current.deletionTimestamp !== undefined && next.finalizers !== undefined) {
    const known = new Set(current.finalizers);
    const added = next.finalizers.filter((finalizer) => !known.has(finalizer));
    if (added.length > 0) {
      errors.push(
        forbiddenField(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added
            .map((finalizer) => JSON.stringify(finalizer))
            .join(", ")}}`,
        ),
      );
    }
  }
  for (const field of IMMUTABLE_FIELDS) {
    if (next[field] === current[field]) continue;
    errors.push(invalidValue(`metadata.${field}`, next[field], "field is immutable"));
  }
  return errors;
}

const IMMUTABLE_FIELDS = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

function validateNames(meta: ObjectMeta, rules: MetadataRules, errors: FieldError[]): void {
  const checkName = rules.checkName ?? checkDnsSubdomainName;
  if (meta.generateName !== undefined && meta.generateName !== "") {
    for (const why of checkName(meta.generateName, true)) {
      errors.push(invalidValue("metadata.generateName", meta.generateName, why));
    }
  }
  if (meta.name === undefined || meta.name === "") {
    errors.push(requiredValue("metadata.name", "name or generateName is required"));
  } else {
    for (const why of checkName(meta.name, false)) {
      errors.push(invalidValue("metadata.name", meta.name, why));
    }
    for (const why of errors.length === 0 ? checkStorableName(meta.name) : []) {
      errors.push(invalidValue("metadata.name", meta.name, why));
    }
  }
  const namespace = meta.namespace ?? "";
  if (!rules.isNamespaced) {
    if (namespace !== "") {
      errors.push(forbiddenField("metadata.namespace", "not allowed on this type"));
    }
  } else if (namespace === "") {
    errors.push(requiredValue("metadata.namespace"));
  } else {
    for (const why of checkDnsLabelName(namespace, false)) {
      errors.push(invalidValue("metadata.namespace", namespace, why));
    }
  }
}

/** Rules for names of every type: names are parts of the store's keys and of URLs. */
function checkStorableName(name: string): string[] {
  const messages: string[] = [];
  if (/[/%]|^\.{1,2}$/.test(name)) messages.push("may not contain '/' or '%'");
  if (CONTROL_CHARACTER.test(name)) messages.push("may not contain control characters");
  if (name.length * 3 > NAME_BYTES_MAX && Buffer.byteLength(name) > NAME_BYTES_MAX) {
    messages.push(`must be no more than ${NAME_BYTES_MAX} bytes`);
  }
  return messages;
}

/** Labels anywhere in an object, such as those of a template. */
export function validateLabels(
  labels: Readonly<Record<string, string>>,
  field: string,
  errors: FieldError[],
  long?: LongWork,
): void {
  eachMember(labels, { errors, long }, (key, value, found) => {
    for (const why of checkQualifiedName(key)) found.push(invalidValue(field, key, why));
    for (const why of checkLabelValue(value)) found.push(invalidValue(field, value, why));
  });
}

/** Annotations anywhere in an object: their keys and their total size. */
export function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  field: string,
  errors: FieldError[],
  long?: LongWork,
): void {
  eachMember(annotations, { errors, long }, (key, _value, found) => {
    // Keys are checked in lower case: the rule for labels, except for the case of prefixes.
    for (const why of checkQualifiedName(key.toLowerCase())) {
      found.push(invalidValue(field, key, why));
    }
  });
  if (areTooLong(annotations)) errors.push(tooLongValue(field, ANNOTATIONS_BYTES_MAX));
}

function areTooLong(annotations: Readonly<Record<string, string>>): boolean {
  let bytes = 0;
  for (const key in annotations) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? "");
    if (bytes > ANNOTATIONS_BYTES_MAX) return true;
  }
  return false;
}

function validateOwnerReferences(references: readonly OwnerReference[], use: RuleUse): void {
  // As kube-apiserver, without the index of the reference.
  const field = "metadata.ownerReferences";
  eachItem(references, use, (reference, _index, errors) => {
    const { apiVersion = "", kind = "", name = "", uid = "" } = reference;
    if (parseGroupVersion(apiVersion) === undefined) {
      errors.push(invalidValue(`${field}.apiVersion`, apiVersion, "version must not be empty"));
    }
    if (kind === "") errors.push(invalidValue(`${field}.kind`, kind, "must not be empty"));
    if (name === "") errors.push(invalidValue(`${field}.name`, name, "must not be empty"));
    if (uid === "") errors.push(invalidValue(`${field}.uid`, uid, "must not be empty"));
    if (apiVersion === "v1" && kind === "Event") {
      errors.push(
        invalidValue(field, reference, `/v1, Kind=Event is disallowed from being an owner`),
      );
    }
  });
  const controllers = references
    .filter(({ controller }) => controller === true)
    .slice(0, CONTROLLER_PROBLEMS_MAX + 1);
  const [first, ...others] = controllers.map(({ kind = "", name = "" }) => `${kind}/${name}`);
  for (const other of others) {
    use.errors.push(
      invalidValue(
        field,
        references,
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${other}`,
      ),
    );
  }
}

function validateFinalizers(
  names: readonly string[],
  { namespaceFinalizer, finalizers, long }: MetadataRules,
  errors: FieldError[],
): void {
  const field = "metadata.finalizers";
  const use = { errors, long };
  eachItem(names, use, (finalizer, _index, found) => {
    for (const why of checkQualifiedName(finalizer)) {
      found.push(invalidValue(field, finalizer, why));
    }
  });
  if (names.includes("orphan") && names.includes("foregroundDeletion")) {
    errors.push(
      invalidValue(field, names, "finalizer orphan and foregroundDeletion cannot be both set"),
    );
  }
  if (finalizers === "any") return;
  eachItem(names, use, (finalizer, index, found) => {
    const why = checkFinalizerName(finalizer, namespaceFinalizer);
    if (why !== undefined) found.push(invalidValue(`${field}[${index}]`, finalizer, why));
  });
}

/** What is wrong with the name of a finalizer of a built-in kind, besides its characters. */
export function checkFinalizerName(
  finalizer: string,
  namespaceFinalizer: string,
): string | undefined {
  const isStandard = STANDARD_FINALIZERS.has(finalizer) || finalizer === namespaceFinalizer;
  if (isStandard || finalizer.includes("/")) return undefined;
  return "name is neither a standard finalizer name nor is it fully qualified";
}
