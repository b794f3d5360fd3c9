/**
 * PolicyView: real partitions of the four kinds without a store. Tests put and delete roles and
 * bindings; observers are called as by the feed.
 */

import { DEFAULT_RING_LIMITS } from "../../../../storage/cache/event-ring.js";
import { ObjectTree } from "../../../../storage/cache/object-tree.js";
import { Partition } from "../../../../storage/cache/partition.js";
import { Retention } from "../../../../storage/cache/retention.js";
import { NO_DELIVERY } from "../../../../storage/cache/testing/no-delivery.js";
import { type Revision, toRevision } from "../../../../storage/kv/store.js";
import { ByteArena } from "../../../../storage/objects/byte-arena.js";
import { decodeStoredObject } from "../../../../storage/objects/decode-object.js";
import { objectPath, type PartitionId, partitionId } from "../../../../storage/objects/keys.js";
import type { StoredObject } from "../../../../storage/objects/stored-object.js";
import { createNaming, DEFAULT_VENDOR } from "../../../api/naming.js";
import type { LabelSelector } from "../../../api/validation-selectors.js";
import { parseRequestInfo } from "../../../request/request-info.js";
import { createUser, type UserInfo } from "../../../request/user-info.js";
import type { AuthorizationAttributes, AuthorizationResult } from "../../authorizer.js";
import type { PolicyRule } from "../policy-rule.js";
import { RbacAuthorizer } from "../rbac-authorizer.js";
import { type ObservedView, RbacIndex, rbacGroup } from "../rbac-index.js";

export const naming = createNaming(DEFAULT_VENDOR);
export const GROUP = rbacGroup(naming);

export type PolicyResource = "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings";

export interface TestSubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface TestRole {
  /** "" = a cluster role. */
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules?: readonly PolicyRule[];
  readonly selectors?: readonly LabelSelector[];
}

export interface TestBinding {
  /** "" = a cluster role binding. */
  readonly namespace: string;
  readonly name: string;
  readonly role: { readonly kind: "Role" | "ClusterRole"; readonly name: string };
  readonly subjects: readonly TestSubject[];
}

export class PolicyView implements ObservedView {
  revision = toRevision(1);
  readonly arena = new ByteArena();
  readonly index: RbacIndex;
  readonly authorizer: RbacAuthorizer;
  readonly #partitions = new Map<PartitionId, Partition>();
  readonly #retention = new Retention(DEFAULT_RING_LIMITS, []);

  /** @param rememberFrom as for RbacIndex */
  constructor(rememberFrom?: number) {
    this.index = new RbacIndex(this, naming, undefined, rememberFrom);
    this.authorizer = new RbacAuthorizer(this.index);
  }

  partition(id: PartitionId): Partition {
    let partition = this.#partitions.get(id);
    if (partition === undefined) {
      partition = new Partition({
        id,
        host: this as unknown as ConstructorParameters<typeof Partition>[0]["host"],
        retention: this.#retention,
        openDelivery: () => NO_DELIVERY,
        floor: this.revision,
      });
      this.#partitions.set(id, partition);
    }
    return partition;
  }

  putRole(role: TestRole): void {
    this.#put(role.namespace === "" ? "clusterroles" : "roles", role, toRoleObject(role));
  }

  putBinding(binding: TestBinding): void {
    const resource = binding.namespace === "" ? "clusterrolebindings" : "rolebindings";
    this.#put(resource, binding, toBindingObject(binding));
  }

  /** Stores a value that is not JSON. */
  corrupt(resource: PolicyResource, namespace: string, name: string): void {
    this.#putBytes(resource, namespace, name, Buffer.from("{"));
  }

  delete(resource: PolicyResource, namespace: string, name: string): void {
    const partition = this.#of(resource);
    partition.delete(objectPath(namespace, name), this.#advance(), 0);
  }

  /** Replaces all objects of the kind, as after a loss of the feed. */
  replace(resource: PolicyResource, objects: readonly (TestRole | TestBinding)[]): void {
    const tree = new ObjectTree();
    for (const object of objects) {
      const value = "role" in object ? toBindingObject(object) : toRoleObject(object);
      tree.set(stored(object.namespace, object.name, jsonOf(value), this.#advance()));
    }
    this.#of(resource).replace(tree, this.revision);
  }

  /** The authorizer's result on a request. */
  ask(user: UserInfo | string, method: string, url: string): AuthorizationResult {
    const who = typeof user === "string" ? createUser({ name: user }) : user;
    return this.decide({ user: who, info: parseRequestInfo(method, url) });
  }

  /** The same of any request, for policies that are small enough to be read at once. */
  decide(attributes: AuthorizationAttributes): AuthorizationResult {
    const result = this.authorizer.authorize(attributes);
    if (result instanceof Promise) throw new Error("the policy is too large to be read at once");
    return result;
  }

  allows(user: UserInfo | string, method: string, url: string): boolean {
    return this.ask(user, method, url).decision === "allow";
  }

  #put(resource: PolicyResource, { namespace, name }: TestRole | TestBinding, value: object): void {
    this.#putBytes(resource, namespace, name, jsonOf(value));
  }

  #putBytes(resource: PolicyResource, namespace: string, name: string, value: Buffer): void {
    const object = stored(namespace, name, value, this.#advance());
    this.#of(resource).put(object, 0);
  }

  #of(resource: PolicyResource): Partition {
    return this.partition(partitionId(GROUP, resource));
  }

  #advance(): Revision {
    this.revision = toRevision(this.revision + 1);
    return this.revision;
  }
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function stored(namespace: string, name: string, value: Buffer, revision: Revision): StoredObject {
  const key = { path: objectPath(namespace, name), namespace, name };
  return decodeStoredObject(key, value, revision, undefined);
}

function toRoleObject({ namespace, name, labels, rules, selectors }: TestRole): object {
  return {
    kind: namespace === "" ? "ClusterRole" : "Role",
    apiVersion: `${GROUP}/v1`,
    metadata: { name, ...(namespace !== "" && { namespace }), labels },
    ...(selectors !== undefined && { aggregationRule: { clusterRoleSelectors: selectors } }),
    rules,
  };
}

function toBindingObject({ namespace, name, role, subjects }: TestBinding): object {
  return {
    kind: namespace === "" ? "ClusterRoleBinding" : "RoleBinding",
    apiVersion: `${GROUP}/v1`,
    metadata: { name, ...(namespace !== "" && { namespace }) },
    roleRef: { apiGroup: GROUP, ...role },
    subjects,
  };
}

/** Shorthands for parts of a policy, for tests of single rules. */
export const clusterRole = (name: string, ...rules: PolicyRule[]): TestRole => ({
  namespace: "",
  name,
  rules,
});

export const role = (namespace: string, name: string, ...rules: PolicyRule[]): TestRole => ({
  namespace,
  name,
  rules,
});

/** @param subject "User:jane", "Group:ops", "ServiceAccount:ns/name" or "ServiceAccount:name" */
export function bind(
  namespace: string,
  name: string,
  roleRef: `${"Role" | "ClusterRole"}/${string}`,
  ...subjects: string[]
): TestBinding {
  const slash = roleRef.indexOf("/");
  const kind = roleRef.slice(0, slash) as "Role" | "ClusterRole";
  return {
    namespace,
    name,
    role: { kind, name: roleRef.slice(slash + 1) },
    subjects: subjects.map(toSubject),
  };
}

function toSubject(text: string): TestSubject {
  const [kind = "", rest = ""] = splitOnce(text, ":");
  if (kind !== "ServiceAccount" || !rest.includes("/")) return { kind, name: rest };
  const [namespace = "", name = ""] = splitOnce(rest, "/");
  return { kind, name, namespace };
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** "get,list pods,pods/log" in the core group, or "get apps:deployments". */
export function allow(verbs: string, resources: string, names?: string): PolicyRule {
  const [group, rest] = resources.includes(":") ? splitOnce(resources, ":") : ["", resources];
  return {
    verbs: verbs.split(","),
    apiGroups: (group ?? "").split("|"),
    resources: (rest ?? "").split(","),
    ...(names !== undefined && { resourceNames: names.split(",") }),
  };
}
