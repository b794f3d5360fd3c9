/**
 * Parameters of policies: objects of any kind that a binding names, read from the view. A parameter is
 * part of the rule, so a write of one moves the epoch of rules (`ParameterUses`, which the write path
 * calls).
 */

import type { Steps } from "../../../storage/base/steps.js";
import { objectPath, type PartitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import { isEmptySelector, selectorMatches } from "../../api/validation-selectors.js";
import type { Catalog } from "../../kinds/catalog.js";
import type { MainResource } from "../../kinds/served-resource.js";
import { parseJson } from "../../schema/parse-json.js";
import type { RuleContext } from "../matching/rule-context.js";
import { toServed, type WriteSubject } from "../matching/write-subject.js";
import type { Binding, ParamKind, ParamRef, Policy } from "./policy.js";

/** One evaluation per element; null = an evaluation without a parameter. */
export type Params = readonly (ApiObject | null)[];

const WITHOUT: Params = [null];

/** Of parameters that are read in one step: some 100 us. */
const STEP_BYTES = 8 * 1024;
/** What such a step takes, in steps of expressions. */
export const PARAMS_STEP_COST = 1_500;
/** Objects whose labels are looked at in one step. */
const STEP_OBJECTS = 200;

export class ParamFinder {
  readonly #context: Pick<RuleContext, "view" | "catalog">;
  /** Each state of a parameter is parsed once. */
  readonly #parsed = new WeakMap<StoredObject, Map<MainResource, ApiObject>>();

  constructor(context: Pick<RuleContext, "view" | "catalog">) {
    this.#context = context;
  }

  /** @throws {Error} if the binding does not fit the policy or a parameter is missing */
  *find(
    { paramKind }: Policy,
    { paramRef }: Binding,
    { isNamespace, namespace }: Pick<WriteSubject, "isNamespace" | "namespace">,
  ): Steps<Params> {
    const { view, catalog } = this.#context;
    if (paramKind === undefined) return WITHOUT;
    const resource = resourceOf(catalog.current, paramKind);
    if (resource === undefined) {
      throw new Error(
        `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
      );
    }
    if (paramRef === undefined) return WITHOUT;
    const { name, selector, namespace: ownNamespace, parameterNotFoundAction } = paramRef;
    const from = namespaceOf(resource, ownNamespace || undefined, isNamespace ? "" : namespace);
    const partition = view.partition(resource.partition);
    const found: ApiObject[] = [];
    if (name) {
      const stored = partition.get(objectPath(from, name));
      if (stored !== undefined) found.push(this.#paramOf(stored, resource));
    } else if (selector) {
      let looks = 0;
      let bytes = 0;
      const all: StoredObject[] = [];
      partition.snapshot().tree.visit(from, "", (stored) => {
        all.push(stored);
        return undefined;
      });
      for (const stored of all) {
        if (++looks % STEP_OBJECTS === 0) yield;
        const takes = isEmptySelector(selector) || selectorMatches(selector, stored.labels);
        if (!takes || stored.corruption !== undefined) continue;
        found.push(this.#paramOf(stored, resource));
        bytes += stored.length;
        if (bytes < STEP_BYTES) continue;
        bytes = 0;
        yield;
      }
    } else {
      throw new Error("one of name or selector must be provided");
    }
    if (found.length === 0 && parameterNotFoundAction === "Deny") {
      throw new Error("no params found for policy binding with `Deny` parameterNotFoundAction");
    }
    return found;
  }

  /** The value of `namespaceObject` for a write; null for cluster-scoped objects. */
  namespaceOf(subject: WriteSubject): ApiObject | null {
    if (subject.isNamespace || subject.namespace === "") return null;
    const stored = subject.storedNamespace();
    const resource = this.#context.catalog.current.findMain("", "v1", "namespaces");
    if (stored === undefined || resource === undefined) return null;
    return this.#paramOf(stored, resource);
  }

  #paramOf(stored: StoredObject, resource: MainResource): ApiObject {
    let versions = this.#parsed.get(stored);
    if (versions === undefined) {
      versions = new Map();
      this.#parsed.set(stored, versions);
    }
    let made = versions.get(resource);
    if (made === undefined) {
      made = toServed(parseJson(stored.bytes) as unknown as ApiObject, resource);
      versions.set(resource, made);
    }
    return made;
  }
}

function namespaceOf(resource: MainResource, own: string | undefined, namespace: string): string {
  if (!resource.isNamespaced) {
    if (own === undefined) return "";
    throw new Error("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  if (own !== undefined) return own;
  if (namespace !== "") return namespace;
  throw new Error(
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
  );
}

export function resourceOf(
  catalog: Catalog,
  { apiVersion, kind }: ParamKind,
): MainResource | undefined {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  return catalog.findKind(group, apiVersion.slice(slash + 1), kind);
}

/** A policy's parameter kind with one binding's reference. */
export interface ParamUse {
  readonly kind: ParamKind;
  readonly ref: ParamRef;
}

/**
 * Which objects currently serve as parameters of stored policies and bindings. An object that a
 * selector could match counts as a parameter whatever its labels are.
 */
export class ParameterUses {
  readonly #catalog: () => Catalog;
  readonly #uses: () => readonly ParamUse[];
  #byPartition: ReadonlyMap<PartitionId, readonly ParamRef[]> | undefined;
  #catalogSeen: Catalog | undefined;

  constructor(catalog: () => Catalog, uses: () => readonly ParamUse[]) {
    this.#catalog = catalog;
    this.#uses = uses;
  }

  /** Call when policies or bindings have changed. */
  changed(): void {
    this.#byPartition = undefined;
  }

  has(partition: PartitionId, namespace: string, name: string): boolean {
    const refs = this.#current().get(partition);
    if (refs === undefined) return false;
    return refs.some(
      (ref) => (!ref.name || ref.name === name) && (!ref.namespace || ref.namespace === namespace),
    );
  }

  #current(): ReadonlyMap<PartitionId, readonly ParamRef[]> {
    const catalog = this.#catalog();
    if (this.#byPartition !== undefined && catalog === this.#catalogSeen) return this.#byPartition;
    const made = new Map<PartitionId, ParamRef[]>();
    for (const { kind, ref } of this.#uses()) {
      const resource = resourceOf(catalog, kind);
      if (resource === undefined) continue;
      const refs = made.get(resource.partition) ?? [];
      refs.push(ref);
      made.set(resource.partition, refs);
    }
    this.#catalogSeen = catalog;
    this.#byPartition = made;
    return made;
  }
}
