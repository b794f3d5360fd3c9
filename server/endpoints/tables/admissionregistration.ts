/** Columns of the admissionregistration group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  fields,
  integerColumn,
  list,
  NAME,
  orNone,
  selectorText,
  specText,
  table,
  text,
  textColumn,
} from "./cells.js";

const webhooks = table(
  NAME,
  integerColumn("Webhooks", (object) => list(object, "webhooks").length),
  AGE,
);

const paramKind = textColumn("ParamKind", (object) => {
  const kind = at(object, "spec", "paramKind");
  return kind === undefined ? "<unset>" : `${text(kind, "apiVersion")}/${text(kind, "kind")}`;
});

const policyBinding = table(
  NAME,
  specText("PolicyName", "policyName"),
  textColumn("ParamRef", (object) => {
    const reference = at(object, "spec", "paramRef");
    const name = text(reference, "name");
    if (name !== "") return `${orNone(text(reference, "namespace"), "*")}/${name}`;
    const selector = at(reference, "selector");
    return selector === undefined ? "<unset>" : selectorText(fields(reference, "selector"));
  }),
  AGE,
);

export const ADMISSIONREGISTRATION_TABLES: Tables = {
  "admissionregistration/mutatingwebhookconfigurations": webhooks,
  "admissionregistration/validatingwebhookconfigurations": webhooks,
  "admissionregistration/validatingadmissionpolicies": table(
    NAME,
    integerColumn("Validations", (object) => list(object, "spec", "validations").length),
    paramKind,
    AGE,
  ),
  "admissionregistration/mutatingadmissionpolicies": table(
    NAME,
    integerColumn("Mutations", (object) => list(object, "spec", "mutations").length),
    paramKind,
    AGE,
  ),
  "admissionregistration/validatingadmissionpolicybindings": policyBinding,
  "admissionregistration/mutatingadmissionpolicybindings": policyBinding,
};
