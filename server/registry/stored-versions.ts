/**
 * Which of its versions a built-in object is stored in. The stored version of a kind rises with releases,
 * and what an earlier release has stored stays as it is until somebody writes it: such a value is given
 * its present version between the store and all that reads it.
 *
 *   stored    {"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1", ...
 *   read as   {"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2", ...
 *
 * Kinds of one version are never looked at; for the others, a value that begins as it is stored today is
 * the value itself. Custom kinds are converted by their definitions, not here.
 */
import { type PartitionId, partitionId } from "../../storage/objects/keys.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import { type Naming, withoutDomain } from "../api/naming.js";
import { parseJson } from "../codec/json.js";
import { type Conversion, SAME_SHAPE } from "../kinds/conversion.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { Facts, ResourceFact } from "../schema/model.js";
import { createConversions } from "./conversions.js";

export interface StoredVersionsOptions {
  readonly naming: Naming;
  readonly facts: Facts;
  /** Asked for when the first older value is met: most stores hold none. */
  readonly codecs: () => KindCodecs;
  /** Of a key that may be an object's. */
  readonly partitionOf: (key: string) => PartitionId | undefined;
}

export interface StoredVersions {
  /**
   * The text in the version that is stored today; the value itself where it is, and where it is none that
   * is known. @throws {Error} that quotes nothing of it
   */
  toCurrent(key: string, value: Buffer): Buffer;
  /** Whether a value is in another version than it would be stored in today. */
  isOlder(key: string, value: Buffer): boolean;
}

/** Objects of one partition. */
interface Versions {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  /** With which the text of its objects begins. */
  readonly head: Buffer;
  /** The others, by the apiVersion that their objects name. */
  readonly others: ReadonlyMap<string, OtherVersion>;
}

interface OtherVersion {
  readonly fact: ResourceFact;
  readonly conversion: Conversion;
}

export function createStoredVersions(options: StoredVersionsOptions): StoredVersions {
  const { partitionOf } = options;
  const byPartition = readVersions(options);
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
    const { fact, conversion } = other;
    const decoded = codecOf(fact.group, fact.version, kind).decode(object as unknown as JsonValue);
    const storedCodec = codecOf(group, version, kind);
    const stored = conversion.toStored(decoded.object);
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
        // What is wrong with it may be in its content.
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

/** Of the kinds that have several. */
function readVersions({ naming, facts }: StoredVersionsOptions): Map<PartitionId, Versions> {
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
      versions = { ...stored, kind, head: Buffer.from(head), others: new Map() };
      found.set(partition, versions);
    }
    const name = `${withoutDomain(naming, group)}/${version}/${resource}`;
    const conversion = conversions[name] ?? SAME_SHAPE;
    versions.others.set(apiVersion, { fact, conversion });
  }
  return found;
}

function parse(value: Buffer): ApiObject | undefined {
  try {
    const object = parseJson(value);
    const isObject = typeof object === "object" && object !== null && !Array.isArray(object);
    return isObject ? (object as unknown as ApiObject) : undefined;
  } catch {
    // Who reads it next says so.
    return undefined;
  }
}

function startsWith(value: Buffer, head: Buffer): boolean {
  return value.length >= head.length && value.compare(head, 0, head.length, 0, head.length) === 0;
}
