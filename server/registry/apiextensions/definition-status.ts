/**
 * The status of a definition, computed in the write itself: which of its names it gets, given the
 * names of other definitions of its group, and whether it is served from now on. An accepted
 * definition is in force with the revision that stores it. One whose names are taken waits until they
 * are free, when definition-controller.ts writes it again.
 *
 *   names free ──► NamesAccepted=True ──► Established=True, for good
 *   names taken ─► NamesAccepted=False, Established=False unless it was established before
 *
 * One whose conversion webhook has unreadable authorities waits until they are replaced.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { Naming } from "../../api/naming.js";
import { ProblemsFull } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkStructural } from "../../structural/definition/check-structural.js";
import { approvalOf, isProtectedGroup } from "./api-approval.js";
import { isBundle } from "./ca-bundle.js";
import {
  type Definition,
  type DefinitionCondition,
  type DefinitionNames,
  type DefinitionStatus,
  isConditionTrue,
  schemaOf,
} from "./definition.js";

/** The names of another definition. */
export interface NameHolder {
  readonly name: string;
  readonly group: string;
  readonly acceptedNames: DefinitionNames;
}

export interface StatusOptions {
  readonly naming: Naming;
  /** "2026-01-31T12:00:00Z" */
  readonly now: string;
  readonly holders: Iterable<NameHolder>;
  /** What `structureProblems` found of it. */
  readonly structure: readonly FieldError[];
}

/** The status of the definition to store; `current` is its previous state. */
export function statusOf(
  next: Definition,
  current: DefinitionStatus | undefined,
  options: StatusOptions,
): DefinitionStatus {
  const { acceptedNames, conditions } = namesOf(next, current, options);
  conditions.replace("NonStructuralSchema", structureOf(next, options.structure));
  conditions.replace("KubernetesAPIApprovalPolicyConformant", approvalCondition(next, options));
  return {
    ...current,
    acceptedNames,
    conditions: conditions.all,
    storedVersions: storedVersions(next, current),
  };
}

/**
 * A status as a client writes it, with the names and their conditions as they are: no client says whose names are whose,
 * nor whether a definition is in force.
 */
export function writtenStatus(
  next: Definition,
  current: Definition,
  options: Pick<StatusOptions, "now" | "holders">,
): DefinitionStatus {
  const isEstablished = ({ type }: DefinitionCondition) => type === "Established";
  const written = next.status?.conditions ?? [];
  const own = current.status?.conditions ?? [];
  const isKept = isConditionTrue(next, "Established") === isConditionTrue(current, "Established");
  const conditions = isKept
    ? written
    : [...written.filter((one) => !isEstablished(one)), ...own.filter(isEstablished)];
  const before = { acceptedNames: current.status?.acceptedNames ?? {}, conditions };
  const names = namesOf(next, before, options);
  return { ...next.status, acceptedNames: names.acceptedNames, conditions: names.conditions.all };
}

/** Which names it gets, and what its conditions say of them. */
function namesOf(
  next: Definition,
  current: DefinitionStatus | undefined,
  options: Pick<StatusOptions, "now" | "holders">,
): { readonly acceptedNames: DefinitionNames; readonly conditions: Conditions } {
  const group = next.spec?.group ?? "";
  const taken = takenNames(next, group, options.holders);
  const requested = next.spec?.names ?? {};
  const { acceptedNames, conflict } = acceptNames(requested, current?.acceptedNames ?? {}, taken);
  const conditions = new Conditions(current?.conditions ?? [], options.now);
  conditions.set(
    conflict === undefined
      ? condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
      : condition("NamesAccepted", "False", conflict.reason, conflict.message),
  );
  if (!conditions.isTrue("Established")) {
    conditions.set(
      conflict === undefined
        ? firstEstablished(next)
        : condition("Established", "False", "NotAccepted", "not all names are accepted"),
    );
  }
  return { acceptedNames, conditions };
}

/** What a definition with free names becomes: not served while its webhook's authorities cannot be read. */
function firstEstablished({ spec }: Definition): DefinitionCondition {
  const bundle = spec?.conversion?.webhook?.clientConfig?.caBundle ?? "";
  if (bundle !== "" && !isBundle(bundle)) {
    const why = "The conversion webhook CABundle is invalid";
    return condition("Established", "False", "InvalidCABundle", why);
  }
  const why = "the initial names have been accepted";
  return condition("Established", "True", "InitialNamesAccepted", why);
}

/** The new storage version is added to the versions that objects may be stored in. */
function storedVersions(
  { spec }: Definition,
  current: DefinitionStatus | undefined,
): readonly string[] {
  const known = current?.storedVersions ?? [];
  const stored = (spec?.versions ?? []).find(({ storage }) => storage === true)?.name;
  return stored === undefined || known.includes(stored) ? known : [...known, stored];
}

interface TakenNames {
  /** Plurals, singulars and short names. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function takenNames(
  { metadata }: Definition,
  group: string,
  holders: Iterable<NameHolder>,
): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { name, group: other, acceptedNames } of holders) {
    if (other !== group || name === metadata.name) continue;
    const { plural, singular, shortNames, kind, listKind } = acceptedNames;
    for (const text of [plural, singular, ...(shortNames ?? [])]) if (text) resources.add(text);
    for (const text of [kind, listKind]) if (text) kinds.add(text);
  }
  return { resources, kinds };
}

interface Conflict {
  readonly reason: string;
  readonly message: string;
}

/** Takes free names and the definition's own previous names; a taken name keeps its old value. */
function acceptNames(
  requested: DefinitionNames,
  accepted: DefinitionNames,
  taken: TakenNames,
): { readonly acceptedNames: DefinitionNames; readonly conflict: Conflict | undefined } {
  const names: Record<string, string | readonly string[]> = {};
  let conflict: Conflict | undefined;
  const inUse = (name: string) => `${JSON.stringify(name)} is already in use`;
  for (const [member, reason, used] of [
    ["plural", "PluralConflict", taken.resources],
    ["singular", "SingularConflict", taken.resources],
    ["kind", "KindConflict", taken.kinds],
    ["listKind", "ListKindConflict", taken.kinds],
  ] as const) {
    const wanted = requested[member] ?? "";
    const before = accepted[member] ?? "";
    const isFree = wanted === before || !used.has(wanted);
    if (!isFree) conflict = { reason, message: inUse(wanted) };
    const kept = isFree ? wanted : before;
    if (kept !== "") names[member] = kept;
  }
  const shortNames = requested.shortNames ?? [];
  const before = accepted.shortNames ?? [];
  const known = new Set(before);
  const clashes = shortNames.filter((name) => !known.has(name) && taken.resources.has(name));
  if (clashes.length > 0) {
    const texts = clashes.map(inUse);
    const message = texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
    conflict = { reason: "ShortNamesConflict", message };
  }
  const kept = clashes.length > 0 ? before : shortNames;
  if (kept.length > 0) names.shortNames = kept;
  const categories = requested.categories ?? [];
  if (categories.length > 0) names.categories = categories;
  return { acceptedNames: names, conflict };
}

/** Why the schemas of a definition are not structural; a pattern, which may be slow to compile, in each step. */
export function* structureProblems({ spec }: Definition): Steps<FieldError[]> {
  const found: (readonly FieldError[])[] = [];
  for (const [index, version] of (spec?.versions ?? []).entries()) {
    const schema = schemaOf(version);
    const path = `spec.versions[${index}].schema.openAPIV3Schema`;
    if (schema === undefined) continue;
    try {
      found.push(yield* checkStructural(schema, path));
    } catch (error) {
      if (!(error instanceof ProblemsFull)) throw error;
      found.push(error.problems);
    }
  }
  return found.flat();
}

/** Stored before schemas had to be structural: reported, and still served. */
function structureOf(
  { spec }: Definition,
  messages: readonly FieldError[],
): DefinitionCondition | undefined {
  if (spec?.preserveUnknownFields === true) {
    const text = "spec.preserveUnknownFields: Invalid value: true: must be false";
    return condition("NonStructuralSchema", "True", "Violations", text);
  }
  if (messages.length === 0) return undefined;
  const texts = messages.slice(0, MESSAGES_MAX).map(({ field, message }) => `${field}: ${message}`);
  const more = messages.length - texts.length;
  if (more > 0) texts.push(`omitting ${more} further errors`);
  const text = texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`;
  return condition("NonStructuralSchema", "True", "Violations", text);
}

const MESSAGES_MAX = 100;

function approvalCondition(
  next: Definition,
  { naming }: StatusOptions,
): DefinitionCondition | undefined {
  if (!isProtectedGroup(next.spec?.group ?? "", naming)) return undefined;
  const { state, reason } = approvalOf(next, naming);
  const type = "KubernetesAPIApprovalPolicyConformant";
  const status = state === "approved" ? "True" : "False";
  return condition(type, status, APPROVAL_REASONS[state], reason);
}

const APPROVAL_REASONS = {
  missing: "MissingAnnotation",
  invalid: "InvalidAnnotation",
  bypassed: "UnapprovedAnnotation",
  approved: "ApprovedAnnotation",
} as const;

export function condition(
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
): DefinitionCondition {
  return { type, status, reason, message };
}

/** A list with one condition of each type; the transition time changes with the status. */
export class Conditions {
  readonly #all: DefinitionCondition[];
  readonly #now: string;

  constructor(before: readonly DefinitionCondition[], now: string) {
    this.#all = [...before];
    this.#now = now;
  }

  get all(): readonly DefinitionCondition[] {
    return this.#all;
  }

  isTrue(type: string): boolean {
    return this.#all.some((one) => one.type === type && one.status === "True");
  }

  set(next: DefinitionCondition): void {
    const index = this.#all.findIndex(({ type }) => type === next.type);
    const before = this.#all[index];
    if (before === undefined) {
      this.#all.push({ ...next, lastTransitionTime: this.#now });
      return;
    }
    const { lastTransitionTime, ...rest } = before;
    const observed = next.observedGeneration ?? before.observedGeneration;
    const wanted = observed === undefined ? next : { ...next, observedGeneration: observed };
    if (deepEqual(rest, wanted)) return;
    const time = before.status === next.status ? (lastTransitionTime ?? this.#now) : this.#now;
    this.#all[index] = { ...wanted, lastTransitionTime: time };
  }

  /** Undefined removes the condition. */
  replace(type: string, next: DefinitionCondition | undefined): void {
    const index = this.#all.findIndex((one) => one.type === type);
    if (next !== undefined) this.set(next);
    else if (index >= 0) this.#all.splice(index, 1);
  }
}
