/**
 * Declarative validation of writes: rules of the facts that are in force are added to what
 * hand-written validation has found; rules in shadow are only compared with it, and what differs is
 * counted (S1-FEAT-06, S1-FEAT-07). A type without hand-written rules has nobody else to decide, so
 * there the rules in shadow do.
 */
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { CAUSES_MAX, type FieldError } from "../../api/status.js";
import {
  createDeclarativeChecks,
  type DeclarativeCheck,
  type DeclarativeFindings,
  shadowRulesAt,
} from "../../schema/declarative.js";
import type { SchemaModel } from "../../schema/model.js";
import { causeKey } from "./join-problems.js";
import type { ServedResource } from "./served-resource.js";

/** Where shadow rules and hand-written ones disagree about one field. */
export interface Mismatch {
  readonly group: string;
  readonly resource: string;
  readonly field: string;
  readonly reason: FieldError["reason"];
  /** Who has found something that the other has not. */
  readonly foundBy: "declarative" | "handwritten";
}

export interface DeclarativeOptions {
  readonly model: SchemaModel;
  /**
   * Gates that rules depend on, and the two of this: DeclarativeValidation lets the rules in shadow
   * run, DeclarativeValidationTakeover lets them decide. A gate that is not known is off.
   */
  isGateEnabled(gate: string): boolean;
  onMismatch(mismatch: Mismatch): void;
}

export interface DeclarativeValidation {
  /**
   * @param found what hand-written validation has found
   * @returns what the write is to be refused for
   */
  judge(
    resource: ServedResource,
    write: { readonly next: ApiObject; readonly current: ApiObject | undefined },
    found: readonly FieldError[],
  ): readonly FieldError[];
}

/** What the facts' rules found and let be, by `causeKey`: an object may have a million mistakes. */
interface Known {
  readonly shadow: ReadonlySet<string>;
  readonly waived: ReadonlySet<string>;
}

interface Comparison {
  readonly findings: DeclarativeFindings;
  readonly known: Known;
  readonly found: readonly FieldError[];
}

export function createDeclarativeValidation(options: DeclarativeOptions): DeclarativeValidation {
  const { model } = options;
  const compile = createDeclarativeChecks(model, (gate) => options.isGateEnabled(gate));
  const isCompared = options.isGateEnabled("DeclarativeValidation");
  const isTakeover = isCompared && options.isGateEnabled("DeclarativeValidationTakeover");
  // One entry for each type that is served.
  const checks = new Map<ServedResource, DeclarativeCheck | undefined>();

  function checkOf(resource: ServedResource): DeclarativeCheck | undefined {
    if (checks.has(resource)) return checks.get(resource);
    // Objects are looked at as they are stored; all versions of a type are held to the same.
    const check = compile(resource.storedCodec.type);
    checks.set(resource, check);
    return check;
  }

  return {
    judge(resource, { next, current }, found) {
      const check = checkOf(resource);
      // More mistakes than are told: it is refused anyhow, and not all were looked for.
      if (check === undefined || found.length >= CAUSES_MAX) return found;
      const findings = check(asJson(next), current && asJson(current));
      const { inForce, shadow } = findings;
      const known = { shadow: keysOf(shadow), waived: keysOf(findings.waived) };
      const unopposed = resource.strategy.validate === undefined;
      if (!unopposed && isCompared) compare(resource, { findings, known, found });
      const kept = isTakeover
        ? found.filter((error) => !isOutvoted(resource, known, error))
        : found;
      const added = unopposed || isTakeover ? [...inForce, ...shadow] : inForce;
      const keptKeys = keysOf(kept);
      const more = added.filter((error) => !keptKeys.has(causeKey(error)));
      return more.length === 0 ? kept : [...kept, ...more];
    },
  };

  /** Reports where shadow rules and hand-written ones disagree. */
  function compare(
    { group, resource, storedCodec }: ServedResource,
    { findings, known, found }: Comparison,
  ): void {
    const foundKeys = keysOf(found);
    for (const error of findings.shadow) {
      if (foundKeys.has(causeKey(error))) continue;
      const { field, reason } = error;
      options.onMismatch({ group, resource, field, reason, foundBy: "declarative" });
    }
    for (const error of found) {
      if (!isMissedBy(storedCodec.type, known, error)) continue;
      const { field, reason } = error;
      options.onMismatch({ group, resource, field, reason, foundBy: "handwritten" });
    }
  }

  /** A rule in shadow covers the field and has not found what hand-written validation has. */
  function isMissedBy(
    type: ServedResource["storedCodec"]["type"],
    { shadow, waived }: Known,
    error: FieldError,
  ): boolean {
    const covering = COVERING[error.reason];
    const key = causeKey(error);
    if (covering === undefined || shadow.has(key) || waived.has(key)) return false;
    return shadowRulesAt(model, type, error.field).some((rule) => covering.test(rule));
  }

  /** Where declarative rules decide, what they cover and do not find is no reason. */
  function isOutvoted({ storedCodec }: ServedResource, known: Known, error: FieldError): boolean {
    return known.waived.has(causeKey(error)) || isMissedBy(storedCodec.type, known, error);
  }
}

/** Rules that ought to find what is refused for a reason; other reasons have too many causes. */
const COVERING: Readonly<Partial<Record<FieldError["reason"], RegExp>>> = {
  FieldValueForbidden: /^(forbidden|immutable)$/,
  FieldValueRequired: /^required$/,
  FieldValueTooMany: /^maxItems=/,
  FieldValueTooLong: /^max(Length|Bytes)=/,
};

function asJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}

function keysOf(errors: readonly FieldError[]): ReadonlySet<string> {
  return new Set(errors.map(causeKey));
}
