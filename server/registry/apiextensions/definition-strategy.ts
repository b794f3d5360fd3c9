/**
 * Strategy of CustomResourceDefinition. Its status comes with the write that changes it, so that a
 * definition is in force as soon as it is stored. Its deletion waits for its objects.
 *
 *   live ── delete ──► terminating, with the finalizer ── objects are gone, finalizer off ──► removed
 */

import { finishNow } from "../../../storage/base/steps.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import { formatTime } from "../../api/time.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";
import { statusOnly } from "../generic/status-parts.js";
import { type Definition, isConditionTrue } from "./definition.js";
import {
  Conditions,
  condition,
  type NameHolder,
  statusOf,
  structureProblems,
  writtenStatus,
} from "./definition-status.js";
import { formatWarnings } from "./format-warnings.js";
import { dropObservedGenerations } from "./observed-generation.js";
import { isNamed, validatesDefinition } from "./validate-definition.js";

/** The definitions in the view. */
export interface DefinitionSource {
  /** Definitions that hold names. */
  holders(): Iterable<NameHolder>;
}

/** The controller that deletes a definition's objects removes it when none is left. */
export function cleanupFinalizer({ groupDomain }: Naming): string {
  return `customresourcecleanup.apiextensions.${groupDomain}`;
}

/** Everything that writes of its objects, and of other definitions, are judged by. */
function servedOf(definition: Definition): readonly unknown[] {
  const { spec, status, metadata } = definition;
  return [
    spec,
    status?.acceptedNames,
    isConditionTrue(definition, "Established"),
    isConditionTrue(definition, "Terminating"),
    metadata.deletionTimestamp !== undefined,
  ];
}

/**
 * Errors of these fields have other paths: fields that versions share are reported under the spec.
 */
const OWN_FIELDS =
  /^spec\.(?:conversion\.|versions\[\d+\]\.(?:name|schema|additionalPrinterColumns|selectableFields|subresources))/;

/** @param tracksGenerations whether a status may say which generation it is of */
export function definitionStrategy(
  definitions: DefinitionSource,
  naming: Naming,
  tracksGenerations = true,
): ResourceStrategy {
  const finalizer = cleanupFinalizer(naming);
  /** What was found ahead, in steps. */
  const structures = new WeakMap<ApiObject, readonly FieldError[]>();
  const setStatus = (
    next: Definition,
    current: Definition | undefined,
    { nowMs }: StrategyContext,
  ) => {
    const now = formatTime(nowMs);
    const holders = definitions.holders();
    const structure = structures.get(next) ?? finishNow(structureProblems(next));
    next.status = statusOf(next, current?.status, { naming, now, holders, structure });
  };
  return {
    ...validatesDefinition,
    resetFields: statusOnly.resetFields,
    ownFields: OWN_FIELDS,
    finalizers: "any",
    warnings: (next, current) => formatWarnings(next, current),
    allowUnconditionalUpdate: false,
    generationFields: ["spec"],
    judges: "cluster",
    isCostly: true,
    *readAhead(next: ApiObject, { subresource }) {
      if (subresource !== "status") structures.set(next, yield* structureProblems(next));
    },
    judgesAlike: (next, current) =>
      next !== undefined && current !== undefined && deepEqual(servedOf(next), servedOf(current)),
    prepareForCreate(next: ApiObject, context) {
      dropEmptyWebhook(next);
      setStatus(next, undefined, context);
    },
    prepareForUpdate(next: ApiObject, current: ApiObject, context) {
      if (context.subresource !== "status") {
        dropEmptyWebhook(next);
        return setStatus(next, current, context);
      }
      statusOnly.prepareForUpdate(next, current, context);
      const names = { now: formatTime(context.nowMs), holders: definitions.holders() };
      if (isNamed(next)) next.status = writtenStatus(next, current, names);
      if (!tracksGenerations) dropObservedGenerations(next, current);
    },
    // There may be objects until the controller has started to look for them.
    isRemovable: ({ metadata }) => metadata.deletionTimestamp !== undefined,
    beginDeletion(object: ApiObject) {
      const { metadata } = object;
      const definition: Definition = object;
      const finalizers = metadata.finalizers ?? [];
      if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
      const now = metadata.deletionTimestamp ?? "";
      const conditions = new Conditions(definition.status?.conditions ?? [], now);
      const message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
      conditions.set(condition("Terminating", "True", "InstanceDeletionPending", message));
      definition.status = { ...definition.status, conditions: conditions.all };
    },
  };
}

/** A webhook without members is none, as in kube-apiserver; where one is needed it is told to be missing. */
function dropEmptyWebhook(definition: Definition): void {
  const { spec } = definition;
  const webhook = spec?.conversion?.webhook;
  if (!webhook) return;
  const { clientConfig, conversionReviewVersions } = webhook;
  if (clientConfig || conversionReviewVersions?.length) return;
  const { webhook: _none, ...conversion } = spec.conversion;
  definition.spec = { ...spec, conversion };
}
