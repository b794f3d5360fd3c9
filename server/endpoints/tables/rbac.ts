/** Columns of the rbac group. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, type Fields, fields, list, NAME, table, text, textColumn, wide } from "./cells.js";

const bindingColumns = [
  NAME,
  textColumn("Role", (object: Fields) => {
    const role = fields(object, "roleRef");
    return `${text(role, "kind")}/${text(role, "name")}`;
  }),
  AGE,
  wide(textColumn("Users", (object) => subjects(object, "User"))),
  wide(textColumn("Groups", (object) => subjects(object, "Group"))),
  wide(textColumn("ServiceAccounts", (object) => subjects(object, "ServiceAccount"))),
];

export const RBAC_TABLES: Tables = {
  "rbac.authorization/rolebindings": table(...bindingColumns),
  "rbac.authorization/clusterrolebindings": table(...bindingColumns),
};

function subjects(binding: Fields, kind: string): string {
  return list(binding, "subjects")
    .filter((subject) => text(subject, "kind") === kind)
    .map((subject) => {
      const namespace = kind === "ServiceAccount" ? `${text(subject, "namespace")}/` : "";
      return `${namespace}${text(subject, "name")}`;
    })
    .join(", ");
}
