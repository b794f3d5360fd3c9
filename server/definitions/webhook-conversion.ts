/**
 * Conversion of one served version by a webhook. Each object names its stored version, which may be
 * an earlier storage version of the definition. An object stored under an older schema is first
 * updated to the current one of its own version.
 */
import { ShortTurns } from "../../storage/base/short-turns.js";
import type { Revision } from "../../storage/kv/store.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject, JsonValue } from "../api/meta.js";
import { type Conversion, withConversions } from "../kinds/conversion.js";
import { parseJson } from "../schema/parse-json.js";
import type { CustomCodec } from "./custom-codec.js";
import { reencoded, refreshed, remembered } from "./stored-under-older-schemas.js";
import type { WebhookConverter } from "./webhook-converter.js";

export interface WebhookConversionOptions {
  readonly converter: WebhookConverter;
  readonly codec: CustomCodec;
  readonly storedCodec: CustomCodec;
  /** The served and the stored version: "example.com/v1". */
  readonly servedVersion: string;
  readonly storedVersion: string;
  /** The codec of a stored object's version; undefined: the definition no longer has it. */
  codecOf(apiVersion: string): CustomCodec | undefined;
  /** Objects up to this revision may have an older schema; 0 = none has. */
  readonly revision: Revision;
  /** For the beginning of the served text. */
  readonly kind: string;
}

/** Objects of one call: a page of a list, */
const BATCH_OBJECTS_MAX = 500;
/**
 * of so many bytes; a larger one has a call of its own. A value takes two bytes at least, so that what comes back has no more
 * values than an answer may have (conversion-clients.ts).
 */
const BATCH_BYTES_MAX = 480 * 1024;

/** @internal exported for its test */
export function* batchesOf<Sized extends { readonly bytes: Buffer }>(
  objects: readonly Sized[],
): Generator<readonly Sized[]> {
  let batch: Sized[] = [];
  let bytes = 0;
  for (const object of objects) {
    const isFull = bytes + object.bytes.length > BATCH_BYTES_MAX && batch.length > 0;
    if (isFull || batch.length === BATCH_OBJECTS_MAX) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(object);
    bytes += object.bytes.length;
  }
  if (batch.length > 0) yield batch;
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
  /** Decoded by the version's schema: a webhook may return additional fields. */
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
  /** In its stored version. */
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
        const turns = new ShortTurns();
        for (const batch of batchesOf(readable)) {
          const asked = batch.map((object) => parse(ofToday(object)));
          await converter.prepare(asked, servedVersion, signal);
          // The results are also kept with the objects, as the converter may evict them, even meanwhile.
          for (const object of batch) {
            await withConversions(
              () => ofView(object),
              () => signal,
            );
            await turns.yieldIfLong();
          }
        }
      },
    },
  };
}
