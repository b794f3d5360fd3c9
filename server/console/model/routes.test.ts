import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRoute, parseRoute, type Route } from "./routes.js";

test("a route is the fragment of an address, and back", () => {
  const deployments = { group: "apps", resource: "deployments" };
  const routes: readonly Route[] = [
    { view: "overview" },
    { view: "clients" },
    { view: "table", type: deployments, namespace: "", labels: "a=b,c in (d, e)", fields: "" },
    {
      view: "table",
      type: { group: "", resource: "pods" },
      namespace: "x",
      labels: "",
      fields: "",
    },
    { view: "object", type: deployments, namespace: "x", name: "system:a/%2F?#", tab: "history" },
    {
      view: "object",
      type: { group: "", resource: "nodes" },
      namespace: "",
      name: "n",
      tab: "yaml",
    },
  ];
  for (const route of routes) assert.deepEqual(parseRoute(formatRoute(route)), route);
  for (const odd of ["", "#", "#/nothing", "#/table", "#/object/core/pods/x", "#/%zz"]) {
    assert.deepEqual(parseRoute(odd), { view: "overview" });
  }
});
