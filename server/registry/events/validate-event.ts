/**
 * Rules for Events in their stored form: common ones for both groups, and stricter ones for the newer.
 */

import { deepEqual } from "../../api/deep-equal.js";
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import { type Rules, validated } from "../generic/validated.js";

interface Event extends ApiObject {
  involvedObject?: { readonly namespace?: string };
  related?: object;
  source?: { readonly component?: string; readonly host?: string };
  series?: { readonly count?: number; readonly lastObservedTime?: string | null };
  type?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  reportingComponent?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  message?: string;
}

const WORD_CHARS_MAX = 128;
const MESSAGE_CHARS_MAX = 1_024;
const DEFAULT_NAMESPACE = "default";

/** @param reporter how the group calls the field of the reporting controller */
function styleRules(reporter: string): Rules<Event> {
  return {
    object(event, { naming }) {
      const errors = new Problems();
      if (isNewStyle(event)) validateNewStyle(event, { naming, reporter, errors });
      else validateOldStyle(event, errors);
      return errors;
    },
  };
}

const eventRules = styleRules("reportingComponent");

const TYPES: readonly unknown[] = ["Normal", "Warning"];

/** Immutable fields of events that were created through the newer group; the series may change. */
const TOLD_ONCE = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  // Told twice, as clients of kube-apiserver are.
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const;

const newerEventRules: Rules<Event> = {
  object: styleRules("reportingController").object,
  create(event) {
    const errors = new Problems();
    validateSeries(event, errors);
    if (!isNewStyle(event)) errors.push(requiredValue("eventTime"));
    const { type, firstTimestamp, lastTimestamp, count = 0, source } = event;
    if (!TYPES.includes(type)) {
      errors.push(invalidValue("type", "", `has invalid value: ${type ?? ""}`));
    }
    const older = {
      firstTimestamp: (firstTimestamp ?? null) !== null,
      lastTimestamp: (lastTimestamp ?? null) !== null,
      count: count !== 0,
      source: (source?.component ?? "") !== "" || (source?.host ?? "") !== "",
    };
    for (const [field, isSet] of Object.entries(older)) {
      if (isSet) errors.push(invalidValue(field, "", "needs to be unset"));
    }
    return errors;
  },
  change(next, current) {
    const errors = new Problems();
    if (!deepEqual(next.series, current.series)) validateSeries(next, errors);
    for (const member of TOLD_ONCE) {
      // An older reporter's event says nothing where a newer one says "".
      if (deepEqual(next[member] || null, current[member] || null)) continue;
      const field = member === "reportingComponent" ? "reportingController" : member;
      errors.push(invalidValue(field, shown(member, next), "field is immutable"));
    }
    return errors;
  },
};

/** References and sources are shown as kube-apiserver's structs. */
function shown(member: (typeof TOLD_ONCE)[number], event: Event): unknown {
  if (member === "source") {
    const { component = "", host = "" } = event.source ?? {};
    return { Component: component, Host: host };
  }
  const value = event[member];
  if (member === "count") return value ?? 0;
  if (/Time/.test(member)) return value ?? null;
  if (member !== "involvedObject" && member !== "related") return value ?? "";
  if (value === undefined || value === null) return null;
  const { kind = "", namespace = "", name = "", uid = "", ...rest } = value as Reference;
  const { apiVersion = "", resourceVersion = "", fieldPath = "" } = rest;
  return {
    Kind: kind,
    Namespace: namespace,
    Name: name,
    UID: uid,
    APIVersion: apiVersion,
    ResourceVersion: resourceVersion,
    FieldPath: fieldPath,
  };
}

type Reference = Readonly<
  Partial<
    Record<
      "kind" | "namespace" | "name" | "uid" | "apiVersion" | "resourceVersion" | "fieldPath",
      string
    >
  >
>;

const SERIES_COUNT_MIN = 2;

function validateSeries({ series }: Event, errors: FieldError[]): void {
  if (series === undefined || series === null) return;
  if ((series.count ?? 0) < SERIES_COUNT_MIN) {
    errors.push(invalidValue("series.count", "", `should be at least ${SERIES_COUNT_MIN}`));
  }
  if ((series.lastObservedTime ?? null) === null) {
    errors.push(requiredValue("series.lastObservedTime"));
  }
}

/** Newer reporters set a time in microseconds, and stricter rules apply to them. */
function isNewStyle({ eventTime }: Event): boolean {
  return eventTime !== undefined && eventTime !== null;
}

const OTHER_NAMESPACE = "does not match event.namespace";

function validateOldStyle({ metadata, involvedObject }: Event, errors: FieldError[]): void {
  const about = involvedObject?.namespace ?? "";
  const { namespace = "" } = metadata;
  // Events about cluster-scoped objects belong to the default namespace.
  const expected = about === "" ? DEFAULT_NAMESPACE : about;
  if (namespace === expected) return;
  errors.push(invalidValue("involvedObject.namespace", about, OTHER_NAMESPACE));
}

function validateNewStyle(
  event: Event,
  { naming, reporter, errors }: { naming: Naming; reporter: string; errors: FieldError[] },
): void {
  const { namespace = "" } = event.metadata;
  const about = event.involvedObject?.namespace ?? "";
  const isShared = namespace === DEFAULT_NAMESPACE || namespace === naming.systemNamespace;
  if (about === "" && !isShared) {
    errors.push(invalidValue("involvedObject.namespace", about, OTHER_NAMESPACE));
  }
  const { reportingComponent = "", message = "" } = event;
  if (reportingComponent === "") errors.push(requiredValue(reporter));
  validateLabelKey(reportingComponent, reporter, errors);
  for (const member of ["reportingInstance", "action", "reason"] as const) {
    const word = event[member] ?? "";
    if (word === "") errors.push(requiredValue(member));
    if (word.length <= WORD_CHARS_MAX) continue;
    const why = `can have at most ${WORD_CHARS_MAX} characters`;
    errors.push(invalidValue(member, "", why));
  }
  if (message.length > MESSAGE_CHARS_MAX) {
    const why = `can have at most ${MESSAGE_CHARS_MAX} characters`;
    errors.push(invalidValue("message", "", why));
  }
}

export const validatesEvent = validated(eventRules);
export const validatesNewerEvent = validated(newerEventRules);
