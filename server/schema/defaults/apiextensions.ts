/** Defaults of the apiextensions group that depend on other fields. */
import { type DefaultRules, ensureObject, fill, isUnset, itemsIn, objectIn } from "./rule.js";

export const apiextensionsDefaults: DefaultRules = {
  "CustomResourceDefinitionSpec names.singular": (spec) => {
    const names = ensureObject(spec, "names");
    if (!isUnset(names.kind)) fill(names, "singular", String(names.kind).toLowerCase());
  },
  "CustomResourceDefinitionSpec names.listKind": (spec) => {
    const names = ensureObject(spec, "names");
    if (!isUnset(names.kind)) fill(names, "listKind", `${String(names.kind)}List`);
  },
  "CustomResourceDefinition status.storedVersions": (definition) => {
    const status = ensureObject(definition, "status");
    if (itemsIn(status, "storedVersions").length > 0) return;
    const versions = itemsIn(objectIn(definition, "spec"), "versions");
    const stored = versions.find((version) => version.storage === true);
    if (stored?.name !== undefined) status.storedVersions = [stored.name];
  },
};
