/** What the page's views are given. */
import type { JsonObject } from "../../api/meta.js";
import type { Route, TypeName } from "../model/routes.js";
import type { Api } from "./api.js";
import type { Catalog, ServedType } from "./catalog.js";

export interface Ui {
  readonly api: Api;
  readonly catalog: Catalog;
  readonly go: (route: Route) => void;
  /** Shows the API of a control plane in place of the root's. */
  readonly enter: (controlPlane: string) => void;
  /** By type: the row of its table that was opened last, where somebody who comes back goes on. */
  readonly opened: Map<string, string>;
}

/** What every side of an object is given. */
export interface Shown {
  readonly ui: Ui;
  readonly type: ServedType;
  readonly path: string;
  readonly object: JsonObject;
}

/** All objects of a type. */
export function tableOf({ group, resource }: TypeName): Route {
  return { view: "table", type: { group, resource }, namespace: "", labels: "", fields: "" };
}
