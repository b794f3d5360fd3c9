/**
 * CustomKinds: updates the catalog from the definitions, in the turn of the feed that brings them,
 * so that a replica whose view has reached a revision serves the kinds of that revision.
 *
 *   feed ─► customresourcedefinitions ─► observer ─► resources of the changed one ─► catalog
 *
 * It never writes or refuses: an unreadable definition is not served.
 */
import type { ObjectTree } from "../../storage/cache/object-tree.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { deepEqual } from "../api/deep-equal.js";
import type { Naming } from "../api/naming.js";
import { withCustom } from "../kinds/catalog.js";
import type { LiveCatalog } from "../kinds/live-catalog.js";
import type { MainResource } from "../kinds/served-resource.js";
import {
  type Definition,
  isConditionTrue,
  isEnding,
} from "../registry/apiextensions/definition.js";
import type { NameHolder } from "../registry/apiextensions/definition-status.js";
import type { DefinitionSource } from "../registry/apiextensions/definition-strategy.js";
import { parseJson } from "../schema/parse-json.js";
import { type CustomResourceParts, createCustomResources } from "./custom-resources.js";

interface DefinitionsView {
  partition(id: PartitionId): { observe(observer: PartitionObserver): void };
}

export interface CustomKindsParts extends CustomResourceParts {
  readonly catalog: LiveCatalog;
  readonly naming: Naming;
}

/** The state of one definition. */
interface Entry {
  readonly holder: NameHolder;
  /** Everything that its resources depend on. */
  readonly served: readonly unknown[];
  readonly resources: readonly MainResource[];
  readonly stored: StoredObject;
  /** Shared with entries of the same definition that show its objects alike. */
  readonly form: object;
}

export class CustomKinds implements DefinitionSource {
  readonly #parts: CustomKindsParts;
  readonly #entries = new Map<string, Entry>();

  constructor(parts: CustomKindsParts) {
    this.#parts = parts;
  }

  /** Must be called once, before the view is loaded. */
  follow(view: DefinitionsView): void {
    const group = `apiextensions.${this.#parts.naming.groupDomain}`;
    view.partition(partitionId(group, "customresourcedefinitions")).observe({
      replaced: (objects) => this.#replaced(objects),
      put: (object) => {
        this.#read(object);
        this.#publish();
      },
      deleted: ({ name }) => {
        this.#entries.delete(name);
        this.#publish();
      },
    });
  }

  *holders(): Generator<NameHolder> {
    for (const { holder } of this.#entries.values()) yield holder;
  }

  #replaced(objects: ObjectTree): void {
    this.#entries.clear();
    objects.visit("", "", (object) => {
      this.#read(object);
      return undefined;
    });
    this.#publish();
  }

  #read(object: StoredObject): void {
    const entry = this.#entryOf(object);
    if (entry === undefined) this.#entries.delete(object.name);
    else this.#entries.set(object.name, entry);
  }

  #entryOf(object: StoredObject): Entry | undefined {
    const definition = parseDefinition(object);
    if (definition === undefined) return undefined;
    const { metadata, spec, status } = definition;
    const holder = {
      name: object.name,
      group: spec?.group ?? "",
      acceptedNames: status?.acceptedNames ?? {},
    };
    const known = this.#entries.get(object.name);
    const served = [
      metadata.uid,
      metadata.generation,
      isConditionTrue(definition, "Established"),
      isEnding(definition),
      holder.acceptedNames,
    ];
    // A status change leaves everything derived from the definition in place.
    if (known !== undefined && deepEqual(known.served, served)) return { ...known, holder };
    const form = known !== undefined && endsAlike(known, definition) ? known.form : {};
    const resources = createCustomResources(object, definition, this.#parts, form);
    return { holder, served, resources, stored: object, form };
  }

  #publish(): void {
    const { catalog } = this.#parts;
    const resources = [...this.#entries.values()].flatMap((entry) => entry.resources);
    catalog.replace(withCustom(catalog.current, resources));
  }
}

/**
 * Whether nothing but the beginning of its deletion is new: then watches stay, so that they tell of the objects
 * that go with the definition.
 */
function endsAlike({ stored, holder }: Entry, next: Definition): boolean {
  if (!isEnding(next)) return false;
  const previous = parseDefinition(stored);
  return (
    previous?.metadata.uid === next.metadata.uid &&
    deepEqual(holder.acceptedNames, next.status?.acceptedNames ?? {}) &&
    deepEqual(previous?.spec, next.spec)
  );
}

/** Undefined for a stored value that is not a definition. */
function parseDefinition(object: StoredObject): Definition | undefined {
  if (object.corruption !== undefined) return undefined;
  const definition = parseJson(object.bytes) as Definition;
  const { spec } = definition;
  const isReadable = typeof spec === "object" && Array.isArray(spec.versions ?? []);
  return isReadable ? definition : undefined;
}
