/**
 * WebhookConverter: converts one definition's objects by its webhook, many in one call, and caches
 * the answers by content, so that the steps of a write, the watchers of an event and the readers of
 * an object share one call. The cache is bounded by bytes.
 */
import { randomUUID } from "node:crypto";
import type { SharedCache } from "../../storage/base/shared-cache.js";
import { inShortTurns } from "../../storage/base/short-turns.js";
import type { Steps } from "../../storage/base/steps.js";
import type { ApiObject, JsonObject, JsonValue, ObjectMeta } from "../api/meta.js";
import { failedConversion, type StatusError } from "../api/status.js";
import { parseAnswer } from "../client/read-answer.js";
import { NotConverted } from "../kinds/conversion.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";
import {
  acceptConverted,
  ConversionFailure,
  metadataOf,
  type ReviewQuestion,
  readReview,
  writeReview,
} from "./conversion-review.js";

/** Sends a review and returns the answer. @throws {Error} with a message for the client */
export type AskWebhook = (body: string, signal: AbortSignal) => Promise<string>;

export interface WebhookConverterOptions {
  /** "apiextensions.k8s.io" */
  readonly reviewGroup: string;
  readonly reviewVersion: "v1" | "v1beta1";
  /** "Widget" and the like, for messages: "example.com/v1, Kind=Widget". */
  readonly kind: string;
  readonly ask: AskWebhook;
  /** Texts of converted objects, by source and target version; other definitions use it, too. */
  readonly known: SharedCache<string, string>;
  /** Tells its own texts from those of others: no other converter has had it. */
  readonly place: string;
}

export class WebhookConverter {
  readonly #options: WebhookConverterOptions;

  constructor(options: WebhookConverterOptions) {
    this.#options = options;
  }

  /** A copy in the desired version, with its original metadata. @throws {NotConverted} */
  convert(object: ApiObject, desiredVersion: string): ApiObject {
    if (object.apiVersion === desiredVersion) return object;
    const known = this.#options.known.get(this.#keyOf(object, desiredVersion));
    if (known === undefined) {
      throw new NotConverted((signal) => this.prepare([object], desiredVersion, signal));
    }
    const converted = parseJson(known) as unknown as ApiObject;
    return { ...converted, metadata: joinMetadata(object.metadata, converted.metadata) };
  }

  isKnown(object: ApiObject, desiredVersion: string): boolean {
    if (object.apiVersion === desiredVersion) return true;
    return this.#options.known.has(this.#keyOf(object, desiredVersion));
  }

  /** All in one call. @throws {StatusError} 500 with the webhook's message */
  async prepare(
    objects: readonly ApiObject[],
    desiredVersion: string,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = objects.filter((object) => !this.isKnown(object, desiredVersion));
    if (wanted.length > 0) await this.#ask(wanted, desiredVersion, signal);
  }

  async #ask(
    objects: readonly ApiObject[],
    desiredVersion: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { reviewGroup, reviewVersion, ask } = this.#options;
    const question = {
      group: reviewGroup,
      version: reviewVersion,
      uid: randomUUID(),
      desiredVersion,
      objects: objects as unknown as readonly JsonObject[],
    };
    try {
      const answer = await ask(stringifyJson(writeReview(question)), signal);
      const converted = readReview(await parsed(answer), question);
      await inShortTurns(this.#keep(converted, question, objects));
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.#failure(objects, error);
    }
  }

  /** An answer is taken whole or not at all. @throws {ConversionFailure} */
  *#keep(
    answered: readonly JsonValue[],
    question: ReviewQuestion,
    objects: readonly ApiObject[],
  ): Steps<void> {
    const texts: string[] = [];
    for (const [index, object] of answered.entries()) {
      const accepted = acceptConverted(object, index, question);
      const { labels, annotations } = metadataOf(accepted);
      texts.push(stringifyJson({ ...accepted, metadata: { labels, annotations } }));
      yield;
    }
    for (const [index, text] of texts.entries()) {
      const key = this.#keyOf(objects[index] as ApiObject, question.desiredVersion);
      this.#options.known.set(key, text, key.length + text.length);
      yield;
    }
  }

  #keyOf(object: ApiObject, desiredVersion: string): string {
    return `${this.#options.place} ${keyOf(object, desiredVersion)}`;
  }

  #failure([first]: readonly ApiObject[], error: unknown): StatusError {
    const kind = `${first?.apiVersion ?? ""}, Kind=${this.#options.kind}`;
    const why = error instanceof Error ? error.message : String(error);
    const isAboutAnswer = error instanceof ConversionFailure && why.startsWith("returned ");
    const text = isAboutAnswer ? why : `failed: ${why}`;
    return failedConversion(`conversion webhook for ${kind} ${text}`, error);
  }
}

async function parsed(text: string): Promise<JsonValue> {
  try {
    return await parseAnswer(text);
  } catch (error) {
    throw new ConversionFailure(`the answer is not JSON: ${(error as Error).message}`);
  }
}

/** The webhook's possible inputs: the object without fields that only the server writes. */
function keyOf(object: ApiObject, desiredVersion: string): string {
  const { metadata, ...rest } = object;
  // A new object gets another uid with each attempt to store it.
  const { name, namespace, labels, annotations } = metadata;
  const identity = { name, namespace, labels, annotations };
  return `${desiredVersion} ${stringifyJson({ ...rest, metadata: identity } as unknown as JsonObject)}`;
}

function joinMetadata(own: ObjectMeta, converted: ObjectMeta): ObjectMeta {
  const { labels: _, annotations: __, ...rest } = own;
  const { labels, annotations } = converted;
  return {
    ...rest,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}
