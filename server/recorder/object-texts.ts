/** ObjectTexts: what objects say now, for the question whether one of them has the name of another in it. */
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import type { JsonObject } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";
import type { Names } from "./links.js";
import type { RecordedObject } from "./rights.js";

/** Shorter names stand in too many texts. */
const NAME_CHARS_MIN = 3;
/** Larger objects are not searched. */
const OBJECT_BYTES_MAX = 256 * 1024;

export class ObjectTexts {
  readonly #view: RegistryView;

  constructor(view: RegistryView) {
    this.#view = view;
  }

  /** In its stored form; undefined = it is not there, or unreadable. */
  read({ group, resource, namespace, name }: RecordedObject): JsonObject | undefined {
    const partition = this.#view.partition(partitionId(group, resource));
    const object = partition.get(objectPath(namespace, name));
    if (object === undefined || object.corruption !== undefined) return undefined;
    return parseJson(object.bytes) as JsonObject;
  }

  /** Of objects that who asks may read. */
  readonly names: Names = ({ group, resource, namespace, name: own }, name) => {
    if (name.length < NAME_CHARS_MIN) return false;
    const partition = this.#view.partition(partitionId(group, resource));
    const object = partition.get(objectPath(namespace, own));
    if (object === undefined || object.corruption !== undefined) return false;
    const { bytes } = object;
    return bytes.length <= OBJECT_BYTES_MAX && bytes.includes(`"${name}"`);
  };
}
