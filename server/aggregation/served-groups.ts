/**
 * Merges local and remote kinds for discovery, in the order of their APIServices. The value changes with the
 * catalog or a service's documents; unchanged parts stay the same objects.
 */
import type { GroupVersion } from "../api/names.js";
import { compareVersions } from "../api/version-order.js";
import type {
  ServedGroup,
  ServedGroups,
  ServedGroupVersion,
} from "../endpoints/discovery/served.js";
import type { RemoteEntry, RemoteService } from "./api-services.js";
import type { RemotePublication } from "./remote-documents.js";

/** The priorities of an APIService: of its group, and of its version in the group; higher comes first. */
export interface Precedence {
  readonly groupPriority: number;
  readonly versionPriority: number;
}

export interface ServedGroupsOptions {
  readonly local: { readonly current: ServedGroups };
  /** For a group-version served locally. */
  readonly precedenceOf: (groupVersion: GroupVersion) => Precedence;
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

  /** A service or its documents have changed. */
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
    const groups = new Map<string, Member[]>();
    for (const { name, versions } of local.groups) {
      groups.set(
        name,
        versions.map((served) => ({ served, ...this.#options.precedenceOf(served) })),
      );
    }
    for (const { service } of remote) {
      const { group, version, groupPriority, versionPriority } = service;
      const said = this.#options.publicationOf(service)?.served;
      // A service without documents yet is listed without resources.
      const served = said ?? {
        group,
        version,
        resources: [],
        facts: [],
        freshness: "Stale" as const,
      };
      const others = (groups.get(group) ?? []).filter((one) => one.served.version !== version);
      groups.set(group, [...others, { served, groupPriority, versionPriority }]);
    }
    const known = new Map(local.groups.map((group) => [group.name, group]));
    return {
      groups: [...groups].sort(byGroup).map(([name, members]): ServedGroup => {
        const versions = members.sort(byVersion).map(({ served }) => served);
        const before = known.get(name);
        const isSame =
          before?.versions.length === versions.length &&
          before.versions.every((one, index) => one === versions[index]);
        return isSame ? before : { name, versions };
      }),
    };
  }
}

interface Member extends Precedence {
  readonly served: ServedGroupVersion;
}

/** A group has the priority of its highest version; equal groups are sorted by name. */
function byGroup(
  [a, left]: readonly [string, readonly Member[]],
  [b, right]: readonly [string, readonly Member[]],
): number {
  const [mine, others] = [highest(left), highest(right)];
  if (mine !== others) return others > mine ? 1 : -1;
  return a < b ? -1 : 1;
}

function highest(members: readonly Member[]): number {
  return Math.max(...members.map(({ groupPriority }) => groupPriority));
}

function byVersion(a: Member, b: Member): number {
  return (
    b.versionPriority - a.versionPriority || compareVersions(a.served.version, b.served.version)
  );
}
