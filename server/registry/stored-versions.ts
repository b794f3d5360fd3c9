/**
 * The stored version of each built-in kind. It rises with releases, and an older object stays as stored
 * until somebody writes it. This conversion between the store and its readers gives such values their
 * current version.
 *
 *   stored    {"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1", ...
 *   read as   {"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2", ...
 *
 * Kinds with one version are never converted; for the others, a value that begins with the current
 * version is returned as it is. Definitions, which kube-apiserver stores in a version that nobody serves any more,
 * are read in today's as well. Custom kinds are converted by their definitions, not here.
 */
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import { type Naming, withoutDomain } from "../api/naming.js";
import { type Conversion, SAME_SHAPE } from "../kinds/conversion.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { Facts, ResourceFact } from "../schema/model.js";
import { parseJson } from "../schema/parse-json.js";
import { fromV1beta1 } from "./apiextensions/from-v1beta1.js";
import { createConversions } from "./conversions.js";

export interface StoredVersionsOptions {
  /** The same for all stores of a process. */
  readonly byPartition: VersionsByPartition;
  /** Called for the first older value: most stores hold none. */
  readonly codecs: () => KindCodecs;
  /** The partition of a key that may be an object's. */
  readonly partitionOf: (key: string) => PartitionId | undefined;
}

export interface StoredVersions {
  /**
   * The text in the current stored version; the value itself if it is current, or in no known version.
   * @throws {Error} that quotes nothing of it
   */
  toCurrent(key: string, value: Buffer): Buffer;
  /** Whether a value is in another version than the current stored one. */
  isOlder(key: string, value: Buffer): boolean;
}

/** The versions of the partitions whose kinds have several. */
export type VersionsByPartition = ReadonlyMap<PartitionId, Versions>;

interface Versions {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  /** The beginning of its objects' text. */
  readonly head: Buffer;
  /** The other versions, by apiVersion. */
  readonly others: ReadonlyMap<string, OtherVersion>;
}

type OtherVersion =
  | { readonly fact: ResourceFact; readonly conversion: Conversion }
  /** Of a version that is not served: its text in the shape of the stored one. */
  | { readonly reshape: (object: JsonObject) => JsonObject };

export function createStoredVersions(options: StoredVersionsOptions): StoredVersions {
  const { partitionOf } = options;
  const { byPartition } = options;
  let codecs: KindCodecs | undefined;

  const find = (key: string, value: Buffer): Versions | undefined => {
    const partition = partitionOf(key);
    const versions = partition === undefined ? undefined : byPartition.get(partition);
    return versions === undefined || startsWith(value, versions.head) ? undefined : versions;
  };
  const otherOf = ({ others }: Versions, value: Buffer) => {
    const object = parse(value);
    const other = others.get(object?.apiVersion ?? "");
    return object === undefined || other === undefined ? undefined : { object, other };
  };
  const codecOf = (group: string, version: string, kind: string) => {
    codecs ??= options.codecs();
    const codec = codecs.forKind(group, version, kind);
    if (codec === undefined) throw new Error(`${kind} of ${group}/${version} is not known`);
    return codec;
  };
  const convert = ({ group, version, kind }: Versions, object: ApiObject, other: OtherVersion) => {
    const storedCodec = codecOf(group, version, kind);
    const sent = object as unknown as JsonObject;
    const stored =
      "reshape" in other
        ? storedCodec.decode(other.reshape(sent)).object
        : other.conversion.toStored(
            codecOf(other.fact.group, other.fact.version, kind).decode(sent).object,
          );
    storedCodec.applyDefaults(stored);
    return Buffer.from(storedCodec.encode(stored));
  };

  return {
    toCurrent(key, value) {
      const versions = find(key, value);
      const older = versions && otherOf(versions, value);
      if (versions === undefined || older === undefined) return value;
      try {
        return convert(versions, older.object, older.other);
      } catch {
        // The error may quote the content, so it is dropped.
        const { kind } = versions;
        throw new Error(`what is stored as ${older.object.apiVersion} is not a ${kind}`);
      }
    },
    isOlder(key, value) {
      const versions = find(key, value);
      return versions !== undefined && otherOf(versions, value) !== undefined;
    },
  };
}

export function readVersions(naming: Naming, facts: Facts): VersionsByPartition {
  const conversions = createConversions(naming);
  const found = new Map<PartitionId, Versions & { others: Map<string, OtherVersion> }>();
  for (const fact of facts.resources) {
    const { group, version, resource, subresource, kind, stored } = fact;
    if (subresource !== "" || stored === undefined) continue;
    const apiVersion = formatGroupVersion({ group, version });
    if (apiVersion === formatGroupVersion(stored)) continue;
    const partition = partitionId(stored.group, resource);
    let versions = found.get(partition);
    if (versions === undefined) {
      const head = `{"kind":"${kind}","apiVersion":"${formatGroupVersion(stored)}",`;
      versions = { ...stored, kind, head: ownBytes(head), others: new Map() };
      found.set(partition, versions);
    }
    const name = `${withoutDomain(naming, group)}/${version}/${resource}`;
    const conversion = conversions[name] ?? SAME_SHAPE;
    versions.others.set(apiVersion, { fact, conversion });
  }
  const group = `apiextensions.${naming.groupDomain}`;
  const kind = "CustomResourceDefinition";
  found.set(partitionId(group, "customresourcedefinitions"), {
    ...{ kind, group, version: "v1" },
    head: ownBytes(`{"kind":"${kind}","apiVersion":"${group}/v1",`),
    others: new Map([[`${group}/v1beta1`, { reshape: fromV1beta1 }]]),
  });
  return found;
}

/** In memory of their own: a few bytes of Node's pool keep all 64 KiB of it, for each control plane. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

function parse(value: Buffer): ApiObject | undefined {
  try {
    const object = parseJson(value);
    const isObject = typeof object === "object" && object !== null && !Array.isArray(object);
    return isObject ? (object as unknown as ApiObject) : undefined;
  } catch {
    // The next reader reports it.
    return undefined;
  }
}

function startsWith(value: Buffer, head: Buffer): boolean {
  return value.length >= head.length && value.compare(head, 0, head.length, 0, head.length) === 0;
}
