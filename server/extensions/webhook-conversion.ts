/**
 * Conversion of one served version by a webhook. An object says itself which version it is stored in:
 * a definition may have stored in another version before, and that is converted all the same.
 */
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { parseJson } from "../codec/json.js";
import type { Conversion } from "../kinds/conversion.js";
import type { CustomCodec } from "./custom-codec.js";
import type { WebhookConverter } from "./webhook-converter.js";

export interface WebhookConversionOptions {
  readonly converter: WebhookConverter;
  readonly codec: CustomCodec;
  readonly storedCodec: CustomCodec;
  /** "example.com/v1": what is served, and what is stored. */
  readonly servedVersion: string;
  readonly storedVersion: string;
  /** For the head of the served text. */
  readonly kind: string;
}

export function convertsByWebhook(options: WebhookConversionOptions): Conversion {
  const { converter, codec, storedCodec, servedVersion, storedVersion, kind } = options;
  const known = new WeakMap<StoredObject, StoredObject>();
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(servedVersion)},`;
  const isAsServed = (object: StoredObject) =>
    object.bytes.toString("latin1", 0, head.length) === head;
  const parse = (object: StoredObject) => parseJson(object.bytes) as unknown as ApiObject;
  /** As the version's schema has it: a webhook may answer with more. */
  const readBy = (own: CustomCodec, object: ApiObject) =>
    own.decode(object as unknown as JsonValue).object;

  const ofView = (object: StoredObject): StoredObject => {
    if (isAsServed(object)) return object;
    let served = known.get(object);
    if (served === undefined) {
      const converted = readBy(codec, converter.convert(parse(object), servedVersion));
      const bytes = Buffer.from(`${codec.encode(converted)}\n`);
      served = object.with({ bytes, bodyOffset: head.length });
      known.set(object, served);
    }
    return served;
  };

  return {
    toStored: (served) => readBy(storedCodec, converter.convert(served, storedVersion)),
    fromStored: (stored) => readBy(codec, converter.convert(stored, servedVersion)),
    renew: (stored) =>
      stored.apiVersion === storedVersion
        ? stored
        : readBy(storedCodec, converter.convert(stored, storedVersion)),
    ofView,
    remote: {
      isReady: (object) =>
        object.corruption !== undefined || isAsServed(object) || known.has(object),
      async prepare(objects, signal) {
        const readable = objects.filter((object) => object.corruption === undefined);
        await converter.prepare(readable.map(parse), servedVersion, signal);
        // What the converter forgets again stays with the object as long as that is there.
        for (const object of readable) ofView(object);
      },
    },
  };
}
