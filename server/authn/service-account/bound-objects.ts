/**
 * BoundObjects: the objects whose lifetime bounds tokens, read from the view each time (S2-SA-03). The
 * view is as fresh as the request demands, so a token ends everywhere with its account, Secret, pod or
 * node. A parsed object is cached as long as the view holds that version.
 */
import type { RegistryView } from "../../../storage/cache/registry-view.js";
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";

export type BoundResource = "serviceaccounts" | "secrets" | "pods" | "nodes";

/** The fields of an object that affect tokens. */
export interface BoundObject {
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The deadline of its deletion; undefined = not being deleted. */
  readonly deletedAtMs: number | undefined;
  /** The token in a Secret; "" = none, or not a Secret. */
  readonly token: string;
  /** The Secrets that an account lists, by name; only of accounts. */
  readonly secretNames: readonly string[];
}

interface ParsedObject {
  readonly metadata?: { readonly uid?: string; readonly deletionTimestamp?: string | null };
  readonly data?: { readonly token?: unknown } | null;
  readonly secrets?: readonly ({ readonly name?: unknown } | null)[] | null;
}

export class BoundObjects {
  readonly #view: Pick<RegistryView, "partition">;
  readonly #known = new WeakMap<StoredObject, BoundObject>();

  constructor(view: Pick<RegistryView, "partition">) {
    this.#view = view;
  }

  /** @param namespace "" for nodes */
  find(resource: BoundResource, namespace: string, name: string): BoundObject | undefined {
    const partition = this.#view.partition(partitionId("", resource));
    const stored = partition.get(objectPath(namespace, name));
    // An unreadable object grants nothing.
    if (stored === undefined || stored.corruption !== undefined) return undefined;
    let known = this.#known.get(stored);
    if (known === undefined) {
      known = parse(stored, resource);
      this.#known.set(stored, known);
    }
    return known;
  }
}

function parse({ bytes, labels }: StoredObject, resource: BoundResource): BoundObject {
  const { metadata, data, secrets } = JSON.parse(bytes.toString("utf8")) as ParsedObject;
  const deletedAt = metadata?.deletionTimestamp ?? "";
  const token = resource === "secrets" && typeof data?.token === "string" ? data.token : "";
  const listed = resource === "serviceaccounts" ? (secrets ?? []) : [];
  return {
    uid: metadata?.uid ?? "",
    labels,
    deletedAtMs: deletedAt === "" ? undefined : Date.parse(deletedAt),
    token: Buffer.from(token, "base64").toString("latin1"),
    secretNames: listed.map((reference) => String(reference?.name ?? "")),
  };
}
