/**
 * RbacIndex: who is bound to which roles, kept by the view itself, in the turn in which it changes:
 * whoever waited for a revision finds the bindings of that revision here. A decision looks up the
 * user and their groups, cluster-wide and in one namespace, and asks each role that it finds once, no
 * matter how many bindings there are or how many lead to the same role.
 *
 *   cluster            users  "jane"               -> ClusterRole view      by binding "readers"
 *                      groups "system:masters"     -> ClusterRole cluster-admin ...
 *   namespace "shop"   users  "jane"               -> Role deployer, ClusterRole edit
 *
 * A service account is the user "system:serviceaccount:<namespace>:<name>". A binding that cannot be
 * read grants nothing; a role that cannot be read, or is not there, is told to whoever asks.
 */
import type { ObjectTree } from "../../../storage/cache/object-tree.js";
import type { PartitionObserver } from "../../../storage/cache/partition.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Naming } from "../../api/naming.js";
import type { UserInfo } from "../../request/user-info.js";
import type { CompiledRules } from "./compiled-rules.js";
import type { PolicyRule } from "./policy-rule.js";
import { RoleBook, type RoleEntry, type RoleKind } from "./role-book.js";

/** The part of the view that the index follows. */
export interface ObservedView {
  partition(id: PartitionId): { observe(observer: PartitionObserver): void };
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export interface BindingEntry {
  /** "" for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly role: RoleEntry;
  readonly subjects: readonly Subject[];
}

/** What binds a subject to a role in one scope: at least one binding. */
export type Bindings = ReadonlySet<BindingEntry>;

/** By role, so that many bindings of one subject to one role cost no more than one. */
type Grants = Map<RoleEntry, Set<BindingEntry>>;

interface Scope {
  readonly users: Map<string, Grants>;
  readonly groups: Map<string, Grants>;
}

/** Return it from a visitor to end the visit. */
export const FOUND = Symbol("found");

export type GrantVisitor = (role: RoleEntry, bindings: Bindings) => typeof FOUND | undefined;

export class RbacIndex {
  /** The API group, as this vendor spells it. */
  readonly group: string;
  readonly #roles = new RoleBook();
  readonly #bindings = new Map<string, BindingEntry>();
  readonly #cluster: Scope = newScope();
  readonly #namespaces = new Map<string, Scope>();

  constructor(view: ObservedView, naming: Naming) {
    this.group = rbacGroup(naming);
    const observe = (resource: string, observer: PartitionObserver) =>
      view.partition(partitionId(this.group, resource)).observe(observer);
    observe("roles", this.#roleObserver("Role"));
    observe("clusterroles", this.#roleObserver("ClusterRole"));
    observe("rolebindings", this.#bindingObserver(true));
    observe("clusterrolebindings", this.#bindingObserver(false));
  }

  /**
   * Every role that the user is bound to, cluster-wide and in the namespace ("" = cluster-wide only).
   * A role may come more than once: through the user and through groups.
   */
  visit(user: UserInfo, namespace: string, visitor: GrantVisitor): typeof FOUND | undefined {
    if (visitScope(this.#cluster, user, visitor) === FOUND) return FOUND;
    if (namespace === "") return undefined;
    const scope = this.#namespaces.get(namespace);
    return scope === undefined ? undefined : visitScope(scope, user, visitor);
  }

  compiled(role: RoleEntry): CompiledRules {
    return this.#roles.compiled(role);
  }

  rules(role: RoleEntry): readonly PolicyRule[] {
    return this.#roles.rules(role);
  }

  /** undefined when there is no such role, and nothing names it. */
  role(kind: RoleKind, namespace: string, name: string): RoleEntry | undefined {
    return this.#roles.find(kind, namespace, name);
  }

  #roleObserver(kind: RoleKind): PartitionObserver {
    return {
      replaced: (objects) => {
        this.#roles.clear(kind);
        visitAll(objects, (object) => this.#roles.put(kind, object));
      },
      put: (object) => this.#roles.put(kind, object),
      deleted: (previous) => this.#roles.remove(kind, previous),
    };
  }

  #bindingObserver(isNamespaced: boolean): PartitionObserver {
    return {
      replaced: (objects) => {
        for (const [key, { namespace }] of [...this.#bindings]) {
          if ((namespace !== "") === isNamespaced) this.#unbind(key);
        }
        visitAll(objects, (object) => this.#bind(object));
      },
      put: (object) => {
        this.#unbind(object.path);
        this.#bind(object);
      },
      deleted: (previous) => this.#unbind(previous.path),
    };
  }

  #bind(object: StoredObject): void {
    const read = readBinding(object);
    if (read === undefined) return;
    const { namespace, name } = object;
    const { roleKind, roleName, subjects } = read;
    const role = this.#roles.acquire(roleKind, namespace, roleName);
    const binding: BindingEntry = { namespace, name, role, subjects };
    this.#bindings.set(objectPath(namespace, name), binding);
    const scope = this.#scope(namespace);
    for (const subject of subjects) {
      const place = placeOf(scope, subject, namespace);
      if (place === undefined) continue;
      let grants = place.map.get(place.key);
      if (grants === undefined) {
        grants = new Map();
        place.map.set(place.key, grants);
      }
      const bindings = grants.get(role);
      if (bindings === undefined) grants.set(role, new Set([binding]));
      else bindings.add(binding);
    }
  }

  #unbind(key: string): void {
    const binding = this.#bindings.get(key);
    if (binding === undefined) return;
    this.#bindings.delete(key);
    const { namespace, role, subjects } = binding;
    const scope = this.#scope(namespace);
    for (const subject of subjects) {
      const place = placeOf(scope, subject, namespace);
      const grants = place?.map.get(place.key);
      const bindings = grants?.get(role);
      if (place === undefined || grants === undefined || bindings === undefined) continue;
      bindings.delete(binding);
      if (bindings.size === 0) grants.delete(role);
      if (grants.size === 0) place.map.delete(place.key);
    }
    if (namespace !== "" && scope.users.size === 0 && scope.groups.size === 0) {
      this.#namespaces.delete(namespace);
    }
    this.#roles.release(role);
  }

  #scope(namespace: string): Scope {
    if (namespace === "") return this.#cluster;
    let scope = this.#namespaces.get(namespace);
    if (scope === undefined) {
      scope = newScope();
      this.#namespaces.set(namespace, scope);
    }
    return scope;
  }
}

/** The API group of roles and bindings. */
export function rbacGroup({ groupDomain }: Naming): string {
  return `rbac.authorization.${groupDomain}`;
}

/** Whether a binding's subject is this user; `namespace` is the binding's. */
export function subjectIs(subject: Subject, user: UserInfo, namespace: string): boolean {
  switch (subject.kind) {
    case "User":
      return subject.name === user.name;
    case "Group":
      return user.groups.includes(subject.name);
    case "ServiceAccount":
      return serviceAccountUser(subject, namespace) === user.name;
    default:
      return false;
  }
}

/** undefined when it is in no namespace, and so is nobody. */
function serviceAccountUser({ name, namespace }: Subject, own: string): string | undefined {
  const place = namespace === "" ? own : namespace;
  return place === "" ? undefined : `system:serviceaccount:${place}:${name}`;
}

function newScope(): Scope {
  return { users: new Map(), groups: new Map() };
}

function placeOf(
  { users, groups }: Scope,
  subject: Subject,
  namespace: string,
): { readonly map: Map<string, Grants>; readonly key: string } | undefined {
  const { kind, name } = subject;
  if (kind === "User") return { map: users, key: name };
  if (kind === "Group") return { map: groups, key: name };
  if (kind !== "ServiceAccount") return undefined;
  const key = serviceAccountUser(subject, namespace);
  return key === undefined ? undefined : { map: users, key };
}

function visitScope(
  { users, groups }: Scope,
  user: UserInfo,
  visitor: GrantVisitor,
): typeof FOUND | undefined {
  const own = users.get(user.name);
  if (own !== undefined && visitGrants(own, visitor) === FOUND) return FOUND;
  if (groups.size === 0) return undefined;
  for (const group of user.groups) {
    const grants = groups.get(group);
    if (grants !== undefined && visitGrants(grants, visitor) === FOUND) return FOUND;
  }
  return undefined;
}

function visitGrants(grants: Grants, visitor: GrantVisitor): typeof FOUND | undefined {
  for (const [role, bindings] of grants) if (visitor(role, bindings) === FOUND) return FOUND;
  return undefined;
}

function visitAll(objects: ObjectTree, take: (object: StoredObject) => void): void {
  objects.visit("", "", (object) => {
    take(object);
    return undefined;
  });
}

/** undefined for what cannot be read, or names no role. */
function readBinding({ bytes, corruption }: StoredObject) {
  if (corruption !== undefined) return undefined;
  const { roleRef, subjects } = JSON.parse(bytes.toString("utf8")) as {
    roleRef?: { kind?: unknown; name?: unknown } | null;
    subjects?: unknown;
  };
  const { kind, name } = roleRef ?? {};
  if ((kind !== "Role" && kind !== "ClusterRole") || typeof name !== "string") return undefined;
  return { roleKind: kind, roleName: name, subjects: toSubjects(subjects) } as const;
}

function toSubjects(value: unknown): readonly Subject[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (typeof item !== "object" || item === null) return [];
    const { kind, name, namespace } = item as Record<string, unknown>;
    if (typeof kind !== "string" || typeof name !== "string") return [];
    return [{ kind, name, namespace: typeof namespace === "string" ? namespace : "" }];
  });
}
