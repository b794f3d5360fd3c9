/**
 * RbacIndex: the roles bound to each subject, updated by the view in the turn of its change, so a request
 * that waited for a revision finds that revision's bindings. A decision looks up the user and their
 * groups, cluster-wide and in one namespace, and checks each role once, however many bindings lead to it.
 *
 *   cluster            users  "jane"               -> ClusterRole view      by binding "readers"
 *                      groups "system:masters"     -> ClusterRole cluster-admin ...
 *   namespace "shop"   users  "jane"               -> Role deployer, ClusterRole edit
 *
 * A service account is the user "system:serviceaccount:<namespace>:<name>". An unreadable binding grants
 * nothing; a missing or unreadable role is reported to the caller.
 */
import { type Share, SharedBytes } from "../../../storage/base/shared-bytes.js";
import type { Steps } from "../../../storage/base/steps.js";
import type { ObjectTree } from "../../../storage/cache/object-tree.js";
import type { PartitionObserver } from "../../../storage/cache/partition-observer.js";
import type { PartitionId } from "../../../storage/objects/keys.js";
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Naming } from "../../api/naming.js";
import type { UserInfo } from "../../request/user-info.js";
import { READ_BYTES_MAX, Unread } from "../unread.js";
import type { PolicyRule, RuleRequest } from "./policy-rule.js";
import { type RoleEntry, RoleIndex, type RoleKind } from "./role-index.js";

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

/**
 * The bindings of a subject to a role in one scope: at least one. A list, as a set for each subject would take most of the
 * memory of a small policy.
 */
export type Bindings = readonly BindingEntry[];

/** The grants of one subject in one scope. */
class Grants {
  /** By role, so that several bindings to one role cost no more than one. */
  readonly roles = new Map<RoleEntry, BindingEntry[]>();
  /** Identifies the subject in cached decisions. */
  readonly id: number;
  /** The policy at which little of the roles was left to read. */
  readAt = -1;

  constructor(id: number) {
    this.id = id;
  }
}

/** What one role costs besides its bytes. */
const ROLE_BYTES = 200;

/** Number of roles from which decisions are cached: with fewer, checking each role is as fast. */
const MANY_ROLES = 16;
/** Cached decisions of all subjects, some 5 MB; the cache is cleared at the bound. */
const DECISIONS_MAX = 20_000;
/** Of a decision, besides its key. */
const DECISION_BYTES = 150;
/** Longer requests are not cached, so that long names cannot fill the memory. */
const DECISION_KEY_CHARS_MAX = 400;

interface Subjects {
  readonly users: Map<string, Grants>;
  readonly groups: Map<string, Grants>;
}

/** Where the grants of a subject are. */
interface Place {
  readonly map: Map<string, Grants>;
  readonly key: string;
}

/** The role and bindings that allow a request. */
export interface Grant {
  readonly role: RoleEntry;
  readonly bindings: Bindings;
}

export type GrantVisitor = (role: RoleEntry, bindings: Bindings) => void;

export class RbacIndex {
  /** The API group in this vendor's spelling. */
  readonly group: string;
  readonly #roles = new RoleIndex();
  readonly #bindings = new Map<string, BindingEntry>();
  readonly #cluster: Subjects = newScope();
  readonly #namespaces = new Map<string, Subjects>();
  /** In how many scopes each is a subject. */
  readonly #users = new Map<string, number>();
  readonly #groups = new Map<string, number>();
  readonly #rememberFrom: number;
  /** The role that allowed a request, for subjects with many roles; cleared when the policy changes. */
  readonly #decisions = new Map<string, RoleEntry | undefined>();
  readonly #caches: SharedBytes;
  readonly #share: Share;
  #lastId = 0;
  /** Grows with each change of the policy. */
  #version = 0;

  /**
   * @param caches what the decisions count in
   * @param rememberFrom the number of roles from which a subject's decisions are cached
   */
  constructor(
    view: ObservedView,
    naming: Naming,
    caches = new SharedBytes(Number.POSITIVE_INFINITY),
    rememberFrom = MANY_ROLES,
  ) {
    this.#caches = caches;
    this.#share = caches.open(() => this.#forget());
    this.#rememberFrom = rememberFrom;
    this.group = rbacGroup(naming);
    const observe = (resource: string, observer: PartitionObserver) =>
      view.partition(partitionId(this.group, resource)).observe(observer);
    observe("roles", this.#roleObserver("Role"));
    observe("clusterroles", this.#roleObserver("ClusterRole"));
    observe("rolebindings", this.#bindingObserver(true));
    observe("clusterrolebindings", this.#bindingObserver(false));
  }

  /**
   * A grant that allows the request in the namespace ("" = cluster-wide); undefined without one.
   * @throws {Unread} read it in turns, and ask again
   */
  find(user: UserInfo, namespace: string, request: RuleRequest): Grant | undefined {
    const found = this.#findIn(this.#cluster, user, request);
    if (found !== undefined || namespace === "") return found;
    const scope = this.#namespaces.get(namespace);
    return scope === undefined ? undefined : this.#findIn(scope, user, request);
  }

  /**
   * Visits every role that the user is bound to, cluster-wide and in the namespace ("" = cluster-wide
   * only). A role may occur repeatedly, through the user and through groups.
   */
  visit(user: UserInfo, namespace: string, visitor: GrantVisitor): void {
    visitScope(this.#cluster, user, visitor);
    const scope = namespace === "" ? undefined : this.#namespaces.get(namespace);
    if (scope !== undefined) visitScope(scope, user, visitor);
  }

  /** Whether any binding, in any namespace, names the user. */
  namesUser(name: string): boolean {
    return this.#users.has(name);
  }

  /** Whether any binding, in any namespace, names the group. */
  namesGroup(name: string): boolean {
    return this.#groups.has(name);
  }

  rules(role: RoleEntry): Steps<readonly PolicyRule[]> {
    return this.#roles.rules(role);
  }

  /** undefined if the role neither exists nor is referenced. */
  role(kind: RoleKind, namespace: string, name: string): RoleEntry | undefined {
    return this.#roles.find(kind, namespace, name);
  }

  #findIn({ users, groups }: Subjects, user: UserInfo, request: RuleRequest): Grant | undefined {
    const own = users.get(user.name);
    let found = own === undefined ? undefined : this.#ask(own, request);
    if (found !== undefined || groups.size === 0) return found;
    for (const group of user.groups) {
      const grants = groups.get(group);
      if (grants !== undefined) found = this.#ask(grants, request);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #ask(grants: Grants, request: RuleRequest): Grant | undefined {
    if (grants.readAt !== this.#version) this.#requireRead(grants);
    if (grants.roles.size < this.#rememberFrom) return this.#askRoles(grants, request);
    const key = keyOf(grants, request);
    const known = this.#decisions.get(key);
    if (known !== undefined) return { role: known, bindings: grants.roles.get(known) as Bindings };
    if (this.#decisions.has(key)) return undefined;
    const found = this.#askRoles(grants, request);
    if (key.length > DECISION_KEY_CHARS_MAX) return found;
    if (this.#decisions.size >= DECISIONS_MAX) this.#forget();
    this.#decisions.set(key, found?.role);
    this.#share.add(DECISION_BYTES + key.length);
    this.#caches.settle();
    return found;
  }

  #askRoles({ roles }: Grants, request: RuleRequest): Grant | undefined {
    for (const [role, bindings] of roles) {
      if (this.#roles.compiled(role).allow(request)) return { role, bindings };
    }
    return undefined;
  }

  #requireRead(grants: Grants): void {
    let bytes = 0;
    const unread: RoleEntry[] = [];
    for (const role of grants.roles.keys()) {
      if (role.content !== undefined || role.isBroken) continue;
      bytes += ROLE_BYTES + this.#roles.bytesToRead(role);
      unread.push(role);
    }
    if (bytes > READ_BYTES_MAX) {
      throw new Unread(unread.map((role) => () => this.#roles.read(role)));
    }
    grants.readAt = this.#version;
  }

  #changed(): void {
    this.#forget();
    this.#version++;
  }

  #forget(): void {
    this.#decisions.clear();
    this.#share.set(0);
  }

  #roleObserver(kind: RoleKind): PartitionObserver {
    return {
      replaced: (objects) => {
        this.#changed();
        this.#roles.clear(kind);
        visitAll(objects, (object) => this.#roles.put(kind, object));
      },
      put: (object) => {
        this.#changed();
        this.#roles.put(kind, object);
      },
      deleted: (previous) => {
        this.#changed();
        this.#roles.remove(kind, previous);
      },
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
    this.#changed();
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
        grants = new Grants(++this.#lastId);
        place.map.set(place.key, grants);
        this.#count(scope, place, 1);
      }
      const bindings = grants.roles.get(role);
      if (bindings === undefined) grants.roles.set(role, [binding]);
      else bindings.push(binding);
    }
  }

  #unbind(key: string): void {
    const binding = this.#bindings.get(key);
    if (binding === undefined) return;
    this.#changed();
    this.#bindings.delete(key);
    const { namespace, role, subjects } = binding;
    const scope = this.#scope(namespace);
    for (const subject of subjects) {
      const place = placeOf(scope, subject, namespace);
      const grants = place?.map.get(place.key);
      const bindings = grants?.roles.get(role);
      if (place === undefined || grants === undefined || bindings === undefined) continue;
      const at = bindings.indexOf(binding);
      if (at >= 0) bindings.splice(at, 1);
      if (bindings.length === 0) grants.roles.delete(role);
      if (grants.roles.size > 0) continue;
      place.map.delete(place.key);
      this.#count(scope, place, -1);
    }
    if (namespace !== "" && scope.users.size === 0 && scope.groups.size === 0) {
      this.#namespaces.delete(namespace);
    }
    this.#roles.release(role);
  }

  #count(scope: Subjects, { map, key }: Place, by: 1 | -1): void {
    const counts = map === scope.users ? this.#users : this.#groups;
    const count = (counts.get(key) ?? 0) + by;
    if (count === 0) counts.delete(key);
    else counts.set(key, count);
  }

  #scope(namespace: string): Subjects {
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

/** undefined without a namespace: it then matches nobody. */
function serviceAccountUser({ name, namespace }: Subject, own: string): string | undefined {
  const place = namespace === "" ? own : namespace;
  return place === "" ? undefined : `system:serviceaccount:${place}:${name}`;
}

/** The subject and everything that a rule reads, so that no two requests share a key. */
function keyOf({ id }: Grants, request: RuleRequest): string {
  const { isResourceRequest, verb, group, resource, subresource, name, path } = request;
  return isResourceRequest
    ? JSON.stringify([id, verb, group, resource, subresource, name])
    : JSON.stringify([id, verb, path]);
}

function newScope(): Subjects {
  return { users: new Map(), groups: new Map() };
}

function placeOf(
  { users, groups }: Subjects,
  subject: Subject,
  namespace: string,
): Place | undefined {
  const { kind, name } = subject;
  if (kind === "User") return { map: users, key: name };
  if (kind === "Group") return { map: groups, key: name };
  if (kind !== "ServiceAccount") return undefined;
  const key = serviceAccountUser(subject, namespace);
  return key === undefined ? undefined : { map: users, key };
}

function visitScope({ users, groups }: Subjects, user: UserInfo, visitor: GrantVisitor): void {
  visitGrants(users.get(user.name), visitor);
  if (groups.size === 0) return;
  for (const group of user.groups) visitGrants(groups.get(group), visitor);
}

function visitGrants(grants: Grants | undefined, visitor: GrantVisitor): void {
  if (grants === undefined) return;
  for (const [role, bindings] of grants.roles) visitor(role, bindings);
}

function visitAll(objects: ObjectTree, take: (object: StoredObject) => void): void {
  objects.visit("", "", (object) => {
    take(object);
    return undefined;
  });
}

/** undefined if it is unreadable or names no role. */
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
