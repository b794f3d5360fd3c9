/**
 * ApiServices: the group-versions that other servers serve, from the stored APIServices. Updated in the feed's
 * turn, so a service that was added, changed or removed through any replica applies to the next request on
 * this one.
 *
 *   api-services.ts      what is configured            remote-server.ts    a pool of connections to one
 *   service-check.ts     what is against it            proxy.ts            one request passed on
 *   service-changes.ts   when to look again
 *   remote-documents.ts  what a service publishes      served-groups.ts    local and remote kinds together
 */
import { compareTexts } from "../../storage/base/compare-texts.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { formatGroupVersion } from "../api/names.js";

/** A remote service. Replaced as a whole when its specification changes. */
export interface RemoteService {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly service: string;
  readonly port: number;
  /** PEM; "" = the machine's authorities. */
  readonly caBundle: string;
  readonly skipsVerification: boolean;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

/** As in the status; unknown before the first check. */
export interface Availability {
  readonly isAvailable: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RemoteEntry {
  readonly service: RemoteService;
  readonly availability: Availability | undefined;
}

interface ApiServiceObject {
  readonly spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly service?: {
      readonly namespace?: string;
      readonly name?: string;
      readonly port?: number;
    } | null;
    readonly caBundle?: string | null;
    readonly insecureSkipTLSVerify?: boolean;
    readonly groupPriorityMinimum?: number;
    readonly versionPriority?: number;
  };
  readonly status?: {
    readonly conditions?:
      | readonly {
          readonly type?: string;
          readonly status?: string;
          readonly reason?: string;
          readonly message?: string;
        }[]
      | null;
  };
}

const HTTPS_PORT = 443;

export class ApiServices implements PartitionObserver {
  /** By group-version. */
  #remote = new Map<string, RemoteEntry>();
  readonly #listeners = new Set<() => void>();
  #sorted: readonly RemoteEntry[] = [];
  /** By the name of the APIService, local ones too. */
  readonly #available = new Map<string, boolean>();

  /** Whether each APIService is available, by its name. */
  get availabilities(): ReadonlyMap<string, boolean> {
    return this.#available;
  }

  /** Highest group priority first, then highest version, then by name. */
  get all(): readonly RemoteEntry[] {
    return this.#sorted;
  }

  find(group: string, version: string): RemoteEntry | undefined {
    return this.#remote.get(formatGroupVersion({ group, version }));
  }

  /** The listener is called in the turn of a change. */
  subscribe(listener: () => void): void {
    this.#listeners.add(listener);
  }

  replaced(objects: {
    visit(namespace: string, after: string, visitor: (object: StoredObject) => undefined): void;
  }): void {
    this.#remote.clear();
    this.#available.clear();
    objects.visit("", "", (object) => {
      this.#put(object);
      return undefined;
    });
    this.#changed();
  }

  put(object: StoredObject): void {
    const key = this.#put(object);
    this.#delete(object.name, key);
    this.#changed();
  }

  deleted(previous: StoredObject): void {
    this.#available.delete(previous.name);
    this.#delete(previous.name, undefined);
    this.#changed();
  }

  /** @returns its group-version; undefined if it is not remote */
  #put(object: StoredObject): string | undefined {
    const fields = fieldsOf(object);
    const availability = availabilityOf(fields);
    this.#available.set(object.name, availability?.isAvailable === true);
    const service = remoteOf(object.name, fields);
    if (service === undefined) return undefined;
    const entry: RemoteEntry = { service, availability };
    const key = formatGroupVersion(entry.service);
    const known = this.#remote.get(key);
    // The same object while the specification is unchanged, because connections are keyed by it.
    const isSame =
      known !== undefined && JSON.stringify(known.service) === JSON.stringify(entry.service);
    this.#remote.set(key, isSame ? { ...entry, service: known.service } : entry);
    return key;
  }

  /** Removes the entry of the APIService with this name, unless it is for the given group-version. */
  #delete(name: string, kept: string | undefined): void {
    for (const [key, { service }] of this.#remote) {
      if (service.name === name && key !== kept) this.#remote.delete(key);
    }
  }

  #changed(): void {
    this.#sorted = [...this.#remote.values()].sort(
      ({ service: a }, { service: b }) =>
        b.groupPriority - a.groupPriority ||
        compareTexts(a.group, b.group) ||
        b.versionPriority - a.versionPriority ||
        compareTexts(a.version, b.version),
    );
    for (const listener of this.#listeners) listener();
  }
}

/** What it has; nothing if it is unreadable. */
function fieldsOf(object: StoredObject): ApiServiceObject {
  if (object.corruption !== undefined) return {};
  return JSON.parse(object.bytes.toString("utf8")) as ApiServiceObject;
}

function availabilityOf({ status }: ApiServiceObject): Availability | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "Available");
  if (condition === undefined) return undefined;
  const { reason = "", message = "" } = condition;
  return { isAvailable: condition.status === "True", reason, message };
}

/** undefined for a local one. */
function remoteOf(name: string, { spec }: ApiServiceObject): RemoteService | undefined {
  const service = spec?.service;
  if (spec === undefined || service === undefined || service === null) return undefined;
  return {
    name,
    group: spec.group ?? "",
    version: spec.version ?? "",
    namespace: service.namespace ?? "",
    service: service.name ?? "",
    port: service.port ?? HTTPS_PORT,
    caBundle: Buffer.from(spec.caBundle ?? "", "base64").toString("utf8"),
    skipsVerification: spec.insecureSkipTLSVerify === true,
    groupPriority: spec.groupPriorityMinimum ?? 0,
    versionPriority: spec.versionPriority ?? 0,
  };
}
