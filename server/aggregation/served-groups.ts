/**
 * Local and remote kinds together, as discovery publishes them: a value that changes when the catalog
 * or what a service says changes, with the parts that did not change being the same objects.
 */
import type {
  ServedGroup,
  ServedGroups,
  ServedGroupVersion,
} from "../endpoints/discovery/served.js";
import type { RemoteEntry, RemoteService } from "./api-services.js";
import type { RemotePublication } from "./remote-documents.js";

export interface ServedGroupsOptions {
  readonly local: { readonly current: ServedGroups };
  readonly remote: () => readonly RemoteEntry[];
  readonly publicationOf: (service: RemoteService) => RemotePublication | undefined;
}

export class AllServedGroups {
  readonly #options: ServedGroupsOptions;
  #local: ServedGroups | undefined;
  #isChanged = true;
  #current: ServedGroups = { groups: [] };

  constructor(options: ServedGroupsOptions) {
    this.#options = options;
  }

  /** A service, or what it says, is another one. */
  changed(): void {
    this.#isChanged = true;
  }

  get current(): ServedGroups {
    const local = this.#options.local.current;
    if (local !== this.#local || this.#isChanged) {
      this.#current = this.#merge(local);
      this.#local = local;
      this.#isChanged = false;
    }
    return this.#current;
  }

  #merge(local: ServedGroups): ServedGroups {
    const remote = this.#options.remote();
    if (remote.length === 0) return local;
    const groups = new Map<string, ServedGroupVersion[]>();
    for (const { name, versions } of local.groups) groups.set(name, [...versions]);
    for (const { service } of remote) {
      const { group, version } = service;
      const said = this.#options.publicationOf(service)?.served;
      // A service that has said nothing yet is there all the same, without resources.
      const served = said ?? {
        group,
        version,
        resources: [],
        facts: [],
        freshness: "Stale" as const,
      };
      const versions = (groups.get(group) ?? []).filter((one) => one.version !== version);
      groups.set(group, [...versions, served]);
    }
    const known = new Map(local.groups.map((group) => [group.name, group]));
    return {
      groups: [...groups].map(([name, versions]): ServedGroup => {
        const before = known.get(name);
        const isSame =
          before?.versions.length === versions.length &&
          before.versions.every((one, index) => one === versions[index]);
        return isSame ? before : { name, versions };
      }),
    };
  }
}
