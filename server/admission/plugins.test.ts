import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createNaming } from "../api/naming.js";
import type { Catalog } from "../kinds/catalog.js";
import { createConfiguredPlugins } from "./configured-plugins.js";
import { createDefaultPlugins } from "./default-plugins.js";
import { describePlugins } from "./plugins.js";
import type { AdmissionView } from "./stored-objects.js";

/** The repository: the nearest folder above this file that holds tsconfig.json. */
function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "tsconfig.json"))) folder = dirname(folder);
  return folder;
}

test("docs/use/admission.md names all plugins, in order, and says truly which are on by default", () => {
  const plugins = [
    // These functions are never called here.
    ...createDefaultPlugins({
      view: {} as AdmissionView,
      naming: createNaming("kubernetes"),
      may: async () => false,
    }),
    ...createConfiguredPlugins({
      view: {} as AdmissionView,
      naming: createNaming("kubernetes"),
      catalog: { current: {} as Catalog },
      clock: { monotonic: () => 0 },
      ask: () => ({ isAllowed: false, reason: "", error: "" }),
      settings: {},
    }).plugins,
    { name: "ServiceAccount" },
    { name: "MutatingAdmissionPolicy" },
    { name: "MutatingAdmissionWebhook" },
    { name: "ValidatingAdmissionPolicy" },
    { name: "ValidatingAdmissionWebhook" },
    { name: "ResourceQuota" },
  ];
  const page = readFileSync(join(findRoot(), "docs/use/admission.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (yes|no) \|/gm)];
  assert.deepEqual(
    rows.map(([, name, isDefault]) => ({ name, isDefault: isDefault === "yes" })),
    describePlugins(plugins),
  );
});
