/** Strategy of Event, in both its groups: events end by themselves and own nothing. */

import { isRecord } from "../../../storage/base/is-record.js";
import type { FieldValues } from "../../../storage/objects/stored-object.js";
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { selectable } from "../generic/fields.js";
import { freeFinalizers } from "../generic/status-parts.js";
import { newerSelectableFields } from "./newer-selectable-fields.js";
import { validatesEvent, validatesNewerEvent } from "./validate-event.js";

const byPath = selectable([
  "involvedObject.kind",
  "involvedObject.namespace",
  "involvedObject.name",
  "involvedObject.uid",
  "involvedObject.apiVersion",
  "involvedObject.resourceVersion",
  "involvedObject.fieldPath",
  "reason",
  "type",
]);

const common: ResourceStrategy = {
  allowCreateOnUpdate: true,
  garbageCollection: "unsupported",
  ttlSeconds: (_event, { eventTtlSeconds }) => eventTtlSeconds,
  selectableFields: (object): FieldValues => {
    const { source, reportingComponent } = object;
    const reporter = typeof reportingComponent === "string" ? reportingComponent : "";
    const component = isRecord(source) ? source.component : undefined;
    return {
      ...byPath.selectableFields?.(object),
      reportingComponent: reporter,
      // Newer reporters leave the source empty.
      source: typeof component === "string" && component !== "" ? component : reporter,
    };
  },
  selectableFieldNames: [...(byPath.selectableFieldNames ?? []), "reportingComponent", "source"],
};

export const eventStrategy: ResourceStrategy = {
  ...common,
  ...validatesEvent,
  ...freeFinalizers,
  validateName: checkPathSegmentName,
};

/** For events.k8s.io, whose fields have newer names and stricter rules. */
export const newerEventStrategy: ResourceStrategy = {
  ...common,
  ...newerSelectableFields,
  ...validatesNewerEvent,
};
