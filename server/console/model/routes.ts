/** Which view the page shows, as the fragment of its address. Pure. */

/** Of a type: "" = the core group. */
export interface TypeName {
  readonly group: string;
  readonly resource: string;
}

export type Route =
  | { readonly view: "overview" | "clients" | "timeline" }
  | {
      readonly view: "table";
      readonly type: TypeName;
      /** "" = all. */
      readonly namespace: string;
      readonly labels: string;
      readonly fields: string;
    }
  | {
      readonly view: "object";
      readonly type: TypeName;
      /** "" = not in a namespace. */
      readonly namespace: string;
      readonly name: string;
      readonly tab: ObjectTab;
    };

export const OBJECT_TABS = ["yaml", "events", "graph", "history", "why", "edit"] as const;
export type ObjectTab = (typeof OBJECT_TABS)[number];

/** Stand for what is empty in a path. */
const CORE = "core";
const NO_NAMESPACE = "-";
const OVERVIEW: Route = { view: "overview" };

export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?");
  const [view, group = "", resource = "", namespace = "", name = ""] = path.split("/").map(decoded);
  const asked = new URLSearchParams(query);
  const type = { group: group === CORE ? "" : group, resource };
  if (view === "table" && resource !== "") {
    const text = (key: string) => asked.get(key) ?? "";
    return {
      view,
      type,
      namespace: text("namespace"),
      labels: text("labels"),
      fields: text("fields"),
    };
  }
  if (view === "object" && name !== "") {
    const tab = OBJECT_TABS.find((one) => one === asked.get("tab")) ?? "yaml";
    return { view, type, namespace: namespace === NO_NAMESPACE ? "" : namespace, name, tab };
  }
  return view === "clients" || view === "timeline" ? { view } : OVERVIEW;
}

/** @returns with its "#" */
export function formatRoute(route: Route): string {
  if (route.view === "table") {
    const { type, namespace, labels, fields } = route;
    return `#/table/${typePath(type)}${queryOf({ namespace, labels, fields })}`;
  }
  if (route.view === "object") {
    const { type, namespace, name, tab } = route;
    const place = namespace === "" ? NO_NAMESPACE : encodeURIComponent(namespace);
    const query = queryOf({ tab: tab === "yaml" ? "" : tab });
    return `#/object/${typePath(type)}/${place}/${encodeURIComponent(name)}${query}`;
  }
  return route.view === "overview" ? "#/" : `#/${route.view}`;
}

function typePath({ group, resource }: TypeName): string {
  return `${group === "" ? CORE : encodeURIComponent(group)}/${encodeURIComponent(resource)}`;
}

function queryOf(values: Readonly<Record<string, string>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
