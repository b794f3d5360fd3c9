/**
 * NamespaceAutoProvision: makes the namespace that a create needs, as a write of the server's own. Dry runs
 * do not, as they change nothing.
 */
import { StatusError } from "../../api/status.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import { SERVER_USER } from "../../request/user-info.js";
import type { Registry } from "../registry.js";
import { createObject } from "./create.js";

/** @throws {StatusError} unless the namespace is there afterwards */
export async function provisionNamespace(
  registry: Registry,
  name: string,
  signal: SignalSource,
): Promise<void> {
  const resource = registry.catalog.current.findMain("", "v1", "namespaces");
  if (resource === undefined) return;
  const options = {
    isDryRun: false,
    fieldManager: "keelson",
    fieldValidation: "Ignore" as const,
    user: SERVER_USER,
    warn() {},
  };
  const input = { value: { metadata: { name } }, duplicateFields: [] };
  try {
    await createObject(registry, { resource, namespace: "", options, input }, signal);
  } catch (error) {
    // Another create was faster.
    if (!(error instanceof StatusError && error.reason === "AlreadyExists")) throw error;
  }
  await registry.freshness.fresh();
}
