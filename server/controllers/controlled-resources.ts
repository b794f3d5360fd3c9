/**
 * ControlledResources: the control loops' view of the catalog: every stored resource once, in its storage
 * version, as of now. Loops over all kinds are told of added and removed ones.
 */
import type { PartitionId } from "../../storage/objects/keys.js";
import { parseGroupVersion } from "../api/names.js";
import type { Catalog } from "../kinds/catalog.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { remembered } from "../kinds/remembered.js";
import type { MainResource } from "../kinds/served-resource.js";
import { NotServed } from "./if-served.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";

export class ControlledResources {
  readonly #catalog: CatalogSource;
  readonly #lists = new WeakMap<Catalog, readonly ControlledResource[]>();
  readonly #known = new WeakMap<MainResource, ControlledResource>();

  constructor(catalog: CatalogSource) {
    this.#catalog = catalog;
  }

  /** In discovery order. */
  get all(): readonly ControlledResource[] {
    const { current } = this.#catalog;
    return remembered(this.#lists, current, () => {
      const stored = current.resources.filter(
        (resource) => resource.form === "main" && current.stored(resource.partition) === resource,
      );
      return Object.freeze(stored.map((resource) => this.#controlled(resource as MainResource)));
    });
  }

  /** @throws {NotServed} */
  require(group: string, resource: string): ControlledResource {
    const found = this.all.find((known) => known.group === group && known.resource === resource);
    if (found === undefined) throw new NotServed(`${resource} of group "${group}" is not served`);
    return found;
  }

  byKind(apiVersion: string, kind: string): ControlledResource | undefined {
    const { current } = this.#catalog;
    const groupVersion = parseGroupVersion(apiVersion);
    const found = groupVersion && current.findKind(groupVersion.group, groupVersion.version, kind);
    const stored = found && current.stored(found.partition);
    return stored && this.#controlled(stored);
  }

  isServed({ partition }: ControlledResource): boolean {
    return this.#catalog.current.stored(partition) !== undefined;
  }

  /** The current resource for writes. @throws {Error} if it is no longer served */
  servedOf({ partition, resource }: ControlledResource): MainResource {
    const found = this.#catalog.current.stored(partition);
    if (found === undefined) throw new Error(`${resource} is not served`);
    return found;
  }

  /** See ObjectsApi. */
  runForEach: ObjectsApi["runForEach"] = (isWanted, task, signal) => {
    const running = new Set<PartitionId>();
    return new Promise((resolve, reject) => {
      const start = () => {
        if (signal.aborted) {
          if (running.size === 0) end();
          return;
        }
        for (const resource of this.all) {
          const { partition } = resource;
          if (running.has(partition) || !isWanted(resource)) continue;
          running.add(partition);
          task(resource, signal).then(
            () => {
              running.delete(partition);
              // It may have come back while its task was ending.
              start();
            },
            (error: unknown) => end(error),
          );
        }
      };
      // Behind the batch that brought the kind: it may hold objects of it, and a follower that begins in its middle
      // would be told of those neither as there nor as new.
      const leave = this.#catalog.subscribe(() => queueMicrotask(start));
      const end = (error?: unknown) => {
        leave();
        signal.removeEventListener("abort", start);
        if (error === undefined) resolve();
        else reject(error);
      };
      signal.addEventListener("abort", start, { once: true });
      start();
    });
  };

  #controlled(main: MainResource): ControlledResource {
    return remembered(this.#known, main, () => {
      const { partition, group, version, resource, kind, isNamespaced, fact, strategy } = main;
      const { verbs } = fact;
      const isCollected = verbs.includes("delete") && strategy.garbageCollection !== "unsupported";
      const named = { partition, group, version, resource, kind, isNamespaced };
      return Object.freeze({ ...named, verbs, isCollected });
    });
  }
}
