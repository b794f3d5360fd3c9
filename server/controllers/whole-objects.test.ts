/** Which loops read all objects of a resource at once, and whole. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** Of each the kind that it lists, which only administrators or replicas make. */
const ALLOWED: Readonly<Record<string, string>> = {
  "api-endpoints.ts": "slices of the server's own Service",
  "api-service-loop.ts": "APIServices",
  "flow-control-defaults.ts": "flow schemas and priority levels",
  "namespace-default-controller.ts": "namespaces",
  "replica-lease.ts": "leases of the system namespace",
  "role-aggregation.ts": "cluster roles",
  "storage-migrator.ts": "migrations",
};

test("39.3: no loop reads all objects that a namespace's users make in one turn", () => {
  const folder = fileURLToPath(new URL("../../../server/controllers/", import.meta.url));
  const listing = readdirSync(folder)
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .filter((file) => /\bobjects\s*\.list\(/.test(readFileSync(join(folder, file), "utf8")));
  assert.deepEqual(listing.sort(), Object.keys(ALLOWED).sort());
});
