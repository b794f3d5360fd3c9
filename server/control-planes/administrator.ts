/**
 * Who administers a control plane at first: whoever made it. A binding says so, which its administrators may change or
 * remove like any other; it is made with the first load and never again.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import type { ControlPlaneEntry } from "./control-plane-index.js";

/** The binding's name. */
export const CREATOR_BINDING = "control-plane-creator";

/**
 * A service account of the root would be another one here, that anybody could make: it gets nothing, and its holder
 * asks for a kubeconfig.
 */
const ACCOUNTS = "system:serviceaccount:";

/** Before the first load of a control plane has ended. @throws {StatusError} */
export async function ensureAdministrator(
  objects: ObjectsApi,
  naming: Naming,
  { creator }: ControlPlaneEntry,
  signal: AbortSignal,
): Promise<void> {
  if (creator === "" || creator.startsWith(ACCOUNTS)) return;
  const rbac = `rbac.authorization.${naming.groupDomain}`;
  const subject = { apiGroup: rbac, kind: "User", name: creator };
  await createMissing(objects, administratorBinding(naming, CREATOR_BINDING, subject), signal);
}

/** Lets a subject do everything. */
export function administratorBinding(
  { groupDomain }: Naming,
  name: string,
  subject: Readonly<Record<string, string>>,
): ApiObject {
  const rbac = `rbac.authorization.${groupDomain}`;
  return {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [subject],
  } as ApiObject;
}

/** @throws {StatusError} other than that it is there */
export async function createMissing(
  objects: ObjectsApi,
  object: ApiObject,
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.byKind(object.apiVersion ?? "", object.kind ?? "");
  if (resource === undefined) throw new Error(`${object.kind} is not served`);
  const { namespace = "", name = "" } = object.metadata;
  if (objects.get(resource, { namespace, name }) !== undefined) return;
  try {
    await objects.create(resource, object, signal);
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}
