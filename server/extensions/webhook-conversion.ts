/**
 * Conversion of one served version by a webhook. An object says itself which version it is stored in:
 * a definition may have stored in another version before, and that is converted all the same.
 * What was stored under an older schema is brought to that of its own version first.
 */
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { parseJson } from "../codec/json.js";
import type { Conversion } from "../kinds/conversion.js";
import type { CustomCodec } from "./custom-codec.js";
import { reencoded, refreshed, remembered } from "./stored-under-older-schemas.js";
import type { WebhookConverter } from "./webhook-converter.js";

export interface WebhookConversionOptions {
  readonly converter: WebhookConverter;
  readonly codec: CustomCodec;
  readonly storedCodec: CustomCodec;
  /** "example.com/v1": what is served, and what is stored. */
  readonly servedVersion: string;
  readonly storedVersion: string;
  /** Of a version that objects may lie in; undefined: the definition has it no more. */
  codecOf(apiVersion: string): CustomCodec | undefined;
  /** What was stored up to here may be of an older schema; 0 = nothing is. */
  readonly revision: Revision;
  /** For the head of the served text. */
  readonly kind: string;
}

export function convertsByWebhook(options: WebhookConversionOptions): Conversion {
  const { converter, codec, storedCodec, servedVersion, storedVersion, codecOf } = options;
  const { revision, kind } = options;
  const converted = new WeakMap<StoredObject, StoredObject>();
  const renewed = new WeakMap<StoredObject, StoredObject>();
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(servedVersion)},`;
  const isAsServed = (object: StoredObject) =>
    object.bytes.toString("latin1", 0, head.length) === head;
  const parse = (object: StoredObject) => parseJson(object.bytes) as unknown as ApiObject;
  /** As the version's schema has it: a webhook may answer with more. */
  const readBy = (own: CustomCodec, object: ApiObject) =>
    own.decode(object as unknown as JsonValue).object;
  const today = (stored: ApiObject): ApiObject => {
    const own = codecOf(stored.apiVersion ?? "");
    return own === undefined ? stored : refreshed(stored as unknown as JsonValue, own);
  };

  const renew = (object: StoredObject): StoredObject =>
    remembered(renewed, object, () => {
      const stored = parse(object);
      const own = codecOf(stored.apiVersion ?? "");
      return own === undefined ? object : reencoded(object, own.encode(today(stored)));
    });
  /** In the version that it is stored in. */
  const ofToday = (object: StoredObject) => (object.revision > revision ? object : renew(object));
  const ofView = (object: StoredObject): StoredObject => {
    if (isAsServed(object)) return ofToday(object);
    return remembered(converted, object, () => {
      const answer = readBy(codec, converter.convert(parse(ofToday(object)), servedVersion));
      const bytes = Buffer.from(`${codec.encode(answer)}\n`);
      return object.with({ bytes, bodyOffset: head.length });
    });
  };

  return {
    toStored: (served) => readBy(storedCodec, converter.convert(served, storedVersion)),
    fromStored: (stored) => readBy(codec, converter.convert(stored, servedVersion)),
    renew(stored, storedAt) {
      const current = storedAt > revision ? stored : today(stored);
      return current.apiVersion === storedVersion
        ? current
        : readBy(storedCodec, converter.convert(current, storedVersion));
    },
    ofView,
    ...(revision > 0 && { ofEnded: renew }),
    remote: {
      isReady: (object) =>
        object.corruption !== undefined || isAsServed(object) || converted.has(object),
      async prepare(objects, signal) {
        const readable = objects.filter((object) => object.corruption === undefined);
        const asked = readable.map((object) => parse(ofToday(object)));
        await converter.prepare(asked, servedVersion, signal);
        // What the converter forgets again stays with the object as long as that is there.
        for (const object of readable) ofView(object);
      },
    },
  };
}
