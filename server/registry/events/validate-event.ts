/** Rules for Events that hold in both their groups, on their one stored form. */
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import { validateLabelKey } from "../../api/validation-selectors.js";
import { type Rules, validated } from "../generic/validated.js";

interface Event extends ApiObject {
  involvedObject?: { readonly namespace?: string };
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

const eventRules: Rules<Event> = {
  object(event, { naming }) {
    const errors: FieldError[] = [];
    if (isNewStyle(event)) validateNewStyle(event, naming, errors);
    else validateOldStyle(event, errors);
    return errors;
  },
};

/** Newer reporters say when it happened to the microsecond, and are held to more. */
function isNewStyle({ eventTime }: Event): boolean {
  return eventTime !== undefined && eventTime !== null;
}

const OTHER_NAMESPACE = "does not match event.namespace";

function validateOldStyle({ metadata, involvedObject }: Event, errors: FieldError[]): void {
  const about = involvedObject?.namespace ?? "";
  const { namespace = "" } = metadata;
  // What belongs to no namespace is reported in the default one.
  const expected = about === "" ? DEFAULT_NAMESPACE : about;
  if (namespace === expected) return;
  errors.push(invalidValue("involvedObject.namespace", about, OTHER_NAMESPACE));
}

function validateNewStyle(event: Event, naming: Naming, errors: FieldError[]): void {
  const { namespace = "" } = event.metadata;
  const about = event.involvedObject?.namespace ?? "";
  const isShared = namespace === DEFAULT_NAMESPACE || namespace === naming.systemNamespace;
  if (about === "" && !isShared) {
    errors.push(invalidValue("involvedObject.namespace", about, OTHER_NAMESPACE));
  }
  const { reportingComponent = "", message = "" } = event;
  if (reportingComponent === "") errors.push(requiredValue("reportingController"));
  else validateLabelKey(reportingComponent, "reportingController", errors);
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
