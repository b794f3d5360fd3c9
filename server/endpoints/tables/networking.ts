/** Columns of the networking group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  type Fields,
  fields,
  LIST_MAX,
  list,
  NAME,
  orNone,
  selectorText,
  specText,
  table,
  text,
  textColumn,
  texts,
} from "./cells.js";
import { ingressAddresses } from "./core.js";

export const NETWORKING_TABLES: Tables = {
  "networking/ingresses": table(
    NAME,
    textColumn("Class", (object) => String(at(object, "spec", "ingressClassName") ?? "<none>")),
    textColumn("Hosts", ingressHosts),
    textColumn("Address", (object) => ingressAddresses(object).join(",")),
    textColumn("Ports", (object) => (list(object, "spec", "tls").length > 0 ? "80, 443" : "80")),
    AGE,
  ),
  "networking/ingressclasses": table(
    NAME,
    specText("Controller", "controller"),
    textColumn("Parameters", (object) => {
      const parameters = at(object, "spec", "parameters");
      if (parameters === undefined) return "<none>";
      const group = at(parameters, "apiGroup");
      const suffix = group === undefined ? "" : `.${String(group)}`;
      return `${text(parameters, "kind")}${suffix}/${text(parameters, "name")}`;
    }),
    AGE,
  ),
  "networking/networkpolicies": table(
    NAME,
    textColumn("Pod-Selector", (object) =>
      orNone(selectorText(fields(object, "spec", "podSelector"))),
    ),
    AGE,
  ),
  "networking/servicecidrs": table(
    NAME,
    textColumn("CIDRs", (object) => texts(object, "spec", "cidrs").join(",")),
    AGE,
  ),
  "networking/ipaddresses": table(
    NAME,
    textColumn("ParentRef", (object) => {
      const parent = at(object, "spec", "parentRef");
      if (parent === undefined) return "<none>";
      const group = text(parent, "group");
      const resource = `${text(parent, "resource")}${group === "" ? "" : `.${group}`}`;
      const path = [resource.toLowerCase(), text(parent, "namespace"), text(parent, "name")];
      return path.filter((part, index) => index !== 1 || part !== "").join("/");
    }),
  ),
};

function ingressHosts(ingress: Fields): string {
  const rules = list(ingress, "spec", "rules");
  const hosts: string[] = [];
  let isCut = false;
  for (const rule of rules) {
    if (hosts.length === LIST_MAX) isCut = true;
    const host = text(rule, "host");
    if (!isCut && host !== "") hosts.push(host);
  }
  if (hosts.length === 0) return "*";
  return isCut ? `${hosts.join(",")} + ${rules.length - LIST_MAX} more...` : hosts.join(",");
}
