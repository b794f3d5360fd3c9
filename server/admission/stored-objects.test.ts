/** How plugins read many objects. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** Of each the kind that it lists, which only administrators make. */
const ALLOWED: Readonly<Record<string, string>> = {
  "default-class.ts": "classes of storage and of ingress",
  "limit-ranger.ts": "limit ranges",
  "priority.ts": "priority classes",
  "quota/device-facts.ts": "device classes",
  "stored-objects.ts": "declares it",
};

test("39.3: no plugin parses all objects that a namespace's users make in one turn", () => {
  const folder = fileURLToPath(new URL("../../../server/admission/", import.meta.url));
  const listing = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .filter((file) => /\blistObjects\(/.test(readFileSync(join(folder, file), "utf8")));
  assert.deepEqual(listing.sort(), Object.keys(ALLOWED).sort());
});
