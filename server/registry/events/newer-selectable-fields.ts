/**
 * Field selectors of events.k8s.io: the newer names of selectable fields that both versions have.
 * Both share the stored form, so the objects have them under the older names.
 */
import type { ResourceStrategy } from "../../kinds/strategy.js";

export const newerSelectableFields: Pick<
  ResourceStrategy,
  "selectableFieldNames" | "selectableFieldAliases"
> = {
  selectableFieldNames: ["reason", "type"],
  selectableFieldAliases: {
    "regarding.kind": "involvedObject.kind",
    "regarding.namespace": "involvedObject.namespace",
    "regarding.name": "involvedObject.name",
    "regarding.uid": "involvedObject.uid",
    "regarding.apiVersion": "involvedObject.apiVersion",
    "regarding.resourceVersion": "involvedObject.resourceVersion",
    "regarding.fieldPath": "involvedObject.fieldPath",
    reportingController: "reportingComponent",
  },
};
