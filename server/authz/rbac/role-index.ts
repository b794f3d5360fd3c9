/**
 * RoleIndex: all roles and cluster roles by name, with their rules compiled on first use. A missing role
 * that bindings name has an entry too, so that a binding references its role directly. Only the index
 * changes it, in the turn of the view's change.
 */
import { inShortTurns } from "../../../storage/base/short-turns.js";
import { finishNow, type Steps } from "../../../storage/base/steps.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { LabelSelector } from "../../api/validation-selectors.js";
import { parseInSteps } from "../../schema/parse-json.js";
import {
  type AggregatableRole,
  aggregateRules,
  isGathered,
  readClusterRole,
} from "./aggregation.js";
import { CompiledRules } from "./compiled-rules.js";
import { type PolicyRule, toPolicyRulesInSteps } from "./policy-rule.js";

export type RoleKind = "Role" | "ClusterRole";

/** Occurs in the bytes of every aggregated role, and rarely in others. */
const AGGREGATION_MARK = '"aggregationRule"';

interface RoleContent {
  readonly rules: readonly PolicyRule[];
  readonly compiled: CompiledRules;
}

export class RoleEntry {
  readonly kind: RoleKind;
  /** "" for a cluster role. */
  readonly namespace: string;
  readonly name: string;
  /** undefined = no role of this name. */
  object: StoredObject | undefined;
  /** Set for an aggregated cluster role. */
  selectors: readonly LabelSelector[] | undefined;
  /** The number of bindings that name it. */
  references = 0;
  /** The parsed rules; absent until first use. */
  content: RoleContent | undefined;
  /** Grows when what its content is made of changes. */
  changes = 0;
  /** Its content is being read, for all who wait for it. */
  reading: Promise<void> | undefined;

  constructor(kind: RoleKind, namespace: string, name: string) {
    this.kind = kind;
    this.namespace = namespace;
    this.name = name;
  }

  /** Whether it is missing or unreadable: it then grants nothing and is reported. */
  get isBroken(): boolean {
    return this.object === undefined || this.object.corruption !== undefined;
  }

  forget(): void {
    this.content = undefined;
    this.reading = undefined;
    this.changes++;
  }
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});
const NOTHING = Object.freeze({ rules: Object.freeze([]), compiled: CompiledRules.of([]) });
/** From here on a role is parsed in steps, which takes three times as long. */
const LONG_BYTES = 64 * 1024;

export class RoleIndex {
  readonly #roles = new Map<string, RoleEntry>();
  readonly #clusterRoles = new Map<string, RoleEntry>();
  readonly #aggregated = new Set<RoleEntry>();
  /** Of all cluster roles: what an aggregated one may gather. */
  #clusterRoleBytes = 0;

  /** Adds a binding's reference to the role. */
  acquire(kind: RoleKind, namespace: string, name: string): RoleEntry {
    const entry = this.#ensure(kind, namespace, name);
    entry.references++;
    return entry;
  }

  release(entry: RoleEntry): void {
    entry.references--;
    this.#dropIfUnused(entry);
  }

  find(kind: RoleKind, namespace: string, name: string): RoleEntry | undefined {
    return this.#mapOf(kind).get(keyOf(kind, namespace, name));
  }

  put(kind: RoleKind, object: StoredObject): void {
    const entry = this.#ensure(kind, object.namespace, object.name);
    const before = entry.object;
    entry.object = object;
    entry.forget();
    if (kind === "ClusterRole") {
      this.#clusterRoleBytes += object.length - (before?.length ?? 0);
      const wasAggregated = this.#aggregated.has(entry);
      entry.selectors = selectorsOf(object);
      if (entry.selectors === undefined) this.#aggregated.delete(entry);
      else this.#aggregated.add(entry);
      this.#gatherAnew(entry, before, wasAggregated);
    }
  }

  remove(kind: RoleKind, object: StoredObject): void {
    const entry = this.find(kind, object.namespace, object.name);
    if (entry === undefined) return;
    const before = entry.object;
    entry.object = undefined;
    entry.forget();
    entry.selectors = undefined;
    const wasAggregated = this.#aggregated.delete(entry);
    if (kind === "ClusterRole") {
      this.#clusterRoleBytes -= before?.length ?? 0;
      this.#gatherAnew(entry, object, wasAggregated);
    }
    this.#dropIfUnused(entry);
  }

  /** Removes all roles of the kind. */
  clear(kind: RoleKind): void {
    for (const entry of [...this.#mapOf(kind).values()]) {
      if (entry.object !== undefined) this.remove(kind, entry.object);
    }
  }

  compiled(entry: RoleEntry): CompiledRules {
    return (entry.content ?? finishNow(this.#read(entry))).compiled;
  }

  /** The effective rules: for an aggregated role the collected ones. */
  *rules(entry: RoleEntry): Steps<readonly PolicyRule[]> {
    return (entry.content ?? (yield* this.#read(entry))).rules;
  }

  /** At most: whether an aggregated role gathers another one is not looked at. */
  bytesToRead({ object, selectors }: RoleEntry): number {
    return selectors === undefined ? (object?.length ?? 0) : this.#clusterRoleBytes;
  }

  /** Reads it in turns, once for all who ask meanwhile. */
  async read(entry: RoleEntry): Promise<void> {
    if (entry.content === undefined) {
      entry.reading ??= inShortTurns(this.#read(entry)).then(() => {});
      await entry.reading;
    }
  }

  *#read(entry: RoleEntry): Steps<RoleContent> {
    if (entry.isBroken) return NOTHING;
    const { changes } = entry;
    const rules =
      entry.selectors === undefined
        ? yield* rulesOf(entry)
        : yield* aggregateRules(toAggregatable(entry), this.#readableClusterRoles());
    const content = { rules, compiled: yield* CompiledRules.inSteps(rules) };
    // What changed while it was read is read again by who needs it.
    if (entry.changes === changes) {
      entry.content = content;
      entry.reading = undefined;
    }
    return content;
  }

  *#readableClusterRoles(): Iterable<AggregatableRole> {
    for (const entry of this.#clusterRoles.values()) {
      if (!entry.isBroken) yield toAggregatable(entry);
    }
  }

  /** Drops the collected rules of aggregated roles that the changed role affects, or affected. */
  #gatherAnew(entry: RoleEntry, before: StoredObject | undefined, wasAggregated: boolean): void {
    const { name, object, selectors } = entry;
    const isConcerned = (aggregated: RoleEntry) =>
      [before, object].some(
        (state) =>
          state !== undefined &&
          isGathered(aggregated, { name, labels: state.labels ?? NO_LABELS }),
      );
    const hasEffect =
      wasAggregated || selectors !== undefined || [...this.#aggregated].some(isConcerned);
    if (!hasEffect) return;
    for (const aggregated of this.#aggregated) aggregated.forget();
  }

  #ensure(kind: RoleKind, namespace: string, name: string): RoleEntry {
    const map = this.#mapOf(kind);
    const key = keyOf(kind, namespace, name);
    let entry = map.get(key);
    if (entry === undefined) {
      entry = new RoleEntry(kind, kind === "Role" ? namespace : "", name);
      map.set(key, entry);
    }
    return entry;
  }

  #dropIfUnused({ kind, namespace, name, object, references }: RoleEntry): void {
    if (object === undefined && references === 0) {
      this.#mapOf(kind).delete(keyOf(kind, namespace, name));
    }
  }

  #mapOf(kind: RoleKind): Map<string, RoleEntry> {
    return kind === "Role" ? this.#roles : this.#clusterRoles;
  }
}

function keyOf(kind: RoleKind, namespace: string, name: string): string {
  return kind === "Role" ? `${namespace}/${name}` : name;
}

function toAggregatable(entry: RoleEntry): AggregatableRole {
  const { name, object, selectors } = entry;
  return { name, labels: object?.labels ?? NO_LABELS, selectors, rules: () => rulesOf(entry) };
}

/** The role's own rules; an earlier parse is reused. */
function* rulesOf({ object, selectors, content }: RoleEntry): Steps<readonly PolicyRule[]> {
  if (content !== undefined && selectors === undefined) return content.rules;
  if (object === undefined || object.corruption !== undefined) return [];
  const text = object.bytes.toString("utf8");
  const role = object.length < LONG_BYTES ? JSON.parse(text) : yield* parseInSteps(text);
  return yield* toPolicyRulesInSteps((role as { rules?: unknown }).rules);
}

function selectorsOf({ bytes, corruption }: StoredObject): readonly LabelSelector[] | undefined {
  if (corruption !== undefined || !bytes.includes(AGGREGATION_MARK)) return undefined;
  return readClusterRole(JSON.parse(bytes.toString("utf8"))).selectors;
}
