/**
 * OwnerReferencesPermissionEnforcement: who gives an object an owner decides about its end, so they need
 * the right to delete it; and who makes an owner wait for it (blockOwnerDeletion) needs the right to set
 * the owner's finalizers. The status of pods is left out: it cannot change owners.
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, OwnerReference } from "../api/meta.js";
import { parseGroupVersion } from "../api/names.js";
import type { AuthorizationAnswer } from "../cel/functions/authorization.js";
import type { Catalog } from "../kinds/catalog.js";
import type { MainResource } from "../kinds/served-resource.js";
import { signalOf } from "../request/lazy-signal.js";
import { type AdmissionAttributes, type AdmissionPlugin, refuse, WRITES } from "./admission.js";
import type { AskForPermission } from "./matching/authorizer-answers.js";

export interface OwnerPermissionParts {
  readonly catalog: { readonly current: Catalog };
  readonly ask: AskForPermission;
}

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export function ownerPermissions(parts: OwnerPermissionParts): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    handles: (operation, { group, resource }, subresource) =>
      WRITES.includes(operation) &&
      !(group === "" && resource === "pods" && subresource === "status"),
    validate(attributes, signal) {
      const owners = ownersOf(attributes.object);
      if (deepEqual(owners, ownersOf(attributes.oldObject))) return undefined;
      return checkOwners(parts, attributes, owners, signalOf(signal));
    },
  };
}

async function checkOwners(
  parts: OwnerPermissionParts,
  attributes: AdmissionAttributes,
  owners: readonly OwnerReference[],
  signal: AbortSignal,
): Promise<void> {
  const ask = (right: Right) => askFor(parts, attributes, right, signal);
  // Who creates an object could also have left it.
  if (attributes.operation !== "CREATE") {
    const { namespace, name, subresource } = attributes;
    const { group, resource } = attributes.resource;
    const answer = await ask({ verb: "delete", group, resource, subresource, namespace, name });
    if (!answer.isAllowed) {
      const what = "cannot set an ownerRef on a resource you can't delete";
      throw refuse(attributes, `${what}: ${describe(answer)}`);
    }
  }
  const blocking = newlyBlocking(owners, ownersOf(attributes.oldObject));
  if (blocking.length === 0) return;
  const anything = { group: "*", resource: "*", namespace: "", name: "*" };
  const finalizers = { verb: "update", subresource: "finalizers" };
  if ((await ask({ ...anything, ...finalizers })).isAllowed) return;
  for (const owner of blocking) {
    const { group, resource, isNamespaced } = resourceOf(parts, attributes, owner);
    const namespace = isNamespaced ? attributes.namespace : "";
    const right = { group, resource, namespace, name: owner.name, ...finalizers };
    const answer = await ask(right);
    if (answer.isAllowed) continue;
    const what =
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
    throw refuse(attributes, `${what}: ${describe(answer)}`);
  }
}

async function askFor(
  { ask }: OwnerPermissionParts,
  { user }: AdmissionAttributes,
  right: Right,
  signal: AbortSignal,
): Promise<AuthorizationAnswer> {
  const whole = { serviceAccount: undefined, fieldSelector: "", labelSelector: "" };
  return await ask(user, { ...whole, ...right }, signal);
}

/** The authorizer's reason and error, as existing clients see them. */
function describe({ reason, error }: AuthorizationAnswer): string {
  return `${reason}, ${error === "" ? "<nil>" : error}`;
}

/** @throws {StatusError} 403 if nobody serves the owner's kind */
function resourceOf(
  { catalog }: OwnerPermissionParts,
  attributes: AdmissionAttributes,
  { apiVersion, kind }: OwnerReference,
): MainResource {
  const served = parseGroupVersion(apiVersion);
  const found = served && catalog.current.findKind(served.group, served.version, kind);
  if (found !== undefined) return found;
  throw refuse(
    attributes,
    `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
  );
}

function ownersOf(object: ApiObject | undefined): readonly OwnerReference[] {
  return object?.metadata?.ownerReferences ?? [];
}

/** Owners that begin to wait for the object. */
function newlyBlocking(
  next: readonly OwnerReference[],
  before: readonly OwnerReference[],
): readonly OwnerReference[] {
  const waiting = new Set<string>();
  for (const { uid, blockOwnerDeletion } of before) if (blockOwnerDeletion) waiting.add(uid);
  return next.filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !waiting.has(uid));
}
