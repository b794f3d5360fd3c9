/**
 * What creates and updates have in common: the way of an object into its stored version, and its last checks, when
 * admission has made its changes and before the object is encoded.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { deepEqual } from "../../api/deep-equal.js";
import { LongWork } from "../../api/long-work.js";
import type { ApiObject } from "../../api/meta.js";
import { collectProblems } from "../../api/problems.js";
import { type FieldError, invalid } from "../../api/status.js";
import {
  type MetadataRules,
  validateMetadata,
  validateMetadataUpdate,
} from "../../api/validation-metadata.js";
import { isCustom, mainOf, partOf, type StoredResource } from "../../kinds/served-resource.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { joinProblems } from "../generic/join-problems.js";
import type { Registry, WriteOptions } from "../registry.js";
import type { Decision } from "./decision.js";

interface Target {
  readonly resource: StoredResource;
  /** Absent, "" = the object itself. */
  readonly subresource?: string;
  readonly options: WriteOptions;
}

/** An object that is about to be stored. */
export interface Candidate {
  readonly registry: Registry;
  readonly target: Target;
  /** Of the object, for refusals. */
  readonly name: string;
  readonly next: ApiObject;
  /** The current object; undefined = it is created. */
  readonly before: ApiObject | undefined;
  /** The facts' errors. */
  readonly facts: readonly FieldError[];
  /** Whether it, or the current object, is large: what is long is then judged in steps. */
  readonly isLong: boolean;
}

/** In the stored version, with its defaults. */
export function toStored({ conversion, storedCodec }: StoredResource, served: ApiObject) {
  if (conversion === undefined) return served;
  const stored = conversion.toStored(served);
  if (conversion.settle === undefined) storedCodec.applyDefaults(stored);
  return stored;
}

export function contextOf(
  { clock, naming }: Registry,
  { subresource = "", options }: Pick<Target, "subresource" | "options">,
): StrategyContext {
  const warn = (text: string) => options.warn(text);
  return { nowMs: clock.now(), subresource, naming, user: options.user, warn };
}

/** What the strategy reads ahead of the object. */
export function* readAhead(
  { resource, subresource = "" }: Pick<Target, "resource" | "subresource">,
  object: ApiObject,
): Steps<void> {
  const steps = resource.strategy.readAhead?.(object, { subresource });
  if (steps !== undefined) yield* steps;
}

/** @param encode makes the decision, when nothing is found. @throws {StatusError} 422 */
export function* judgeAndEncode(candidate: Candidate, encode: Steps<Decision>): Steps<Decision> {
  const found = yield* checkByRules(candidate);
  yield;
  checkDeclared(candidate, found);
  yield;
  const decision = yield* encode;
  yield;
  // After the generation is counted, by which some warnings are given.
  warn(candidate);
  return decision;
}

/** What the rules written in code find, with the facts' errors. */
function* checkByRules(candidate: Candidate): Steps<readonly FieldError[]> {
  const { registry, target, next, before, facts, isLong } = candidate;
  const { strategy } = target.resource;
  const longMetadata = isLong ? new LongWork() : undefined;
  const metadataAtOnce = collectProblems(() => {
    const errors = validateMetadata(next.metadata, metadataRules(candidate, longMetadata));
    if (before === undefined) return errors;
    return [...errors, ...validateMetadataUpdate(next.metadata, before.metadata)];
  });
  const metadata =
    longMetadata === undefined
      ? metadataAtOnce
      : [...metadataAtOnce, ...(yield* longMetadata.finish())];
  yield;
  // Rules of definitions cost what they say, also on small objects.
  const isCostly = isCustom(target.resource) || strategy.isCostly === true;
  const long = isLong || isCostly ? new LongWork(isLong) : undefined;
  const context = { ...contextOf(registry, target), long };
  const atOnce = collectProblems(() => {
    if (before === undefined) return strategy.validate?.(next, context) ?? [];
    const rules = partOf(target.resource) ?? { validate: strategy.validateUpdate };
    return rules.validate?.(next, before, context) ?? [];
  });
  const own = long === undefined ? atOnce : [...atOnce, ...(yield* long.finish())];
  const errors = joinProblems({ facts, metadata, own, ownFields: strategy.ownFields });
  if (errors.length === 0 || before === undefined) return errors;
  yield;
  return newProblems(candidate, before, errors);
}

/** @throws {StatusError} 422 */
function checkDeclared(candidate: Candidate, found: readonly FieldError[]): void {
  const { registry, target, name, next, before } = candidate;
  const { resource, subresource = "" } = target;
  const declarative = subresource === "" ? registry.declarative : undefined;
  const problems = declarative?.judge(resource, { next, current: before }, found) ?? found;
  if (problems.length > 0) throw invalid(mainOf(resource), name, problems);
}

function warn({ registry, target, next, before }: Candidate): void {
  const { resource, subresource = "", options } = target;
  const { strategy } = resource;
  if (subresource !== "" && subresource !== "status") return;
  const texts =
    subresource === ""
      ? strategy.warnings?.(next, before, contextOf(registry, target))
      : strategy.statusWarnings?.(next);
  for (const text of texts ?? []) options.warn(text);
}

function metadataRules(
  { registry, target: { resource } }: Candidate,
  long?: LongWork,
): MetadataRules {
  const { isNamespaced, strategy } = resource;
  return {
    isNamespaced,
    checkName: strategy.validateName,
    namespaceFinalizer: registry.naming.namespaceFinalizer,
    finalizers: strategy.finalizers,
    long,
  };
}

/**
 * Drops errors that the current object already has: rules get stricter, and objects stored under
 * older ones must still accept labels and lose their finalizers.
 */
function newProblems(candidate: Candidate, before: ApiObject, errors: readonly FieldError[]) {
  const { target, next } = candidate;
  const { resource, subresource = "" } = target;
  const counted = errors.some(({ unlessHeld }) => unlessHeld !== undefined)
    ? withoutHeld(errors, before)
    : errors;
  if (subresource !== "") return counted;
  const known = collectProblems(() => validateMetadata(before.metadata, metadataRules(candidate)));
  // What a definition tolerates of unchanged values is decided value by value.
  const isRestSame =
    !isCustom(resource) &&
    deepEqual({ ...next, metadata: undefined }, { ...before, metadata: undefined });
  return counted.filter(({ field, message }) =>
    field.startsWith("metadata.")
      ? !known.some((old) => old.field === field && old.message === message)
      : !isRestSame,
  );
}

/** Without errors about texts that the current object has already. */
function withoutHeld(errors: readonly FieldError[], before: ApiObject): readonly FieldError[] {
  const held = new Set<unknown>();
  const collect = (value: unknown): void => {
    // An empty text stands for nothing, and so any object would hold it.
    if (typeof value === "string" && value !== "") held.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(before);
  return errors.filter(({ unlessHeld }) => unlessHeld === undefined || !held.has(unlessHeld));
}
