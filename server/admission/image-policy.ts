/**
 * ImagePolicyWebhook: somebody else says whether the images of a pod may run. Answers are remembered for
 * a while, by what was asked; without one, the configuration decides.
 */
import { LRUCache } from "lru-cache";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { Review } from "../client/review-client.js";
import { type SignalSource, signalOf } from "../request/lazy-signal.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  handlesOnly,
  PODS,
  refuse,
  WRITES,
} from "./admission.js";

export interface ImagePolicySettings {
  /** How long a yes and a no are remembered; 0 = not at all. */
  readonly allowTtlMs: number;
  readonly denyTtlMs: number;
  /** Whether images may run when there is no answer. */
  readonly defaultAllow: boolean;
}

export interface ImagePolicyParts extends ImagePolicySettings {
  readonly naming: Naming;
  /** Asks the webhook. @throws {Error} without a usable answer */
  ask(review: Review, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

const ANSWERS_MAX = 1024;
const EPHEMERAL = "ephemeralcontainers";

interface Answer {
  readonly isAllowed: boolean;
  readonly reason: string;
  readonly auditAnnotations: Readonly<Record<string, unknown>>;
}

interface ImageUsers {
  readonly containers?: readonly ImageUser[] | null;
  readonly initContainers?: readonly ImageUser[] | null;
  readonly ephemeralContainers?: readonly ImageUser[] | null;
}

type ImageUser = { readonly image?: string };

export class ImagePolicyWebhook implements AdmissionPlugin {
  readonly name = "ImagePolicyWebhook";
  readonly handles = handlesOnly(PODS, WRITES, ["", EPHEMERAL]);
  readonly #parts: ImagePolicyParts;
  /** Made for the first answer: its places are allocated at once. */
  #answers: LRUCache<string, Answer> | undefined;

  constructor(parts: ImagePolicyParts) {
    this.#parts = parts;
  }

  /** Answers that are remembered. */
  get size(): number {
    return this.#answers?.size ?? 0;
  }

  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined {
    const { object, subresource, namespace } = attributes;
    if (object === undefined) return undefined;
    const annotations = this.#annotationsOf(object);
    const spec = {
      containers: imagesOf(object, subresource).map((image) => ({ image })),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      namespace,
    };
    const key = JSON.stringify(spec);
    const known = this.#answers?.get(key);
    if (known !== undefined) {
      this.#apply(attributes, known);
      return undefined;
    }
    return this.#ask(spec, key, attributes, signalOf(signal));
  }

  async #ask(
    spec: Review["spec"],
    key: string,
    attributes: AdmissionAttributes,
    signal: AbortSignal,
  ): Promise<void> {
    const { ask, naming, defaultAllow, allowTtlMs, denyTtlMs } = this.#parts;
    let answer: Answer;
    try {
      const apiVersion = `imagepolicy.${naming.groupDomain}/v1alpha1`;
      const review = { apiVersion, kind: "ImageReview", spec, status: { allowed: false } };
      answer = parseAnswer(await ask(review, signal));
    } catch (error) {
      if (!defaultAllow) throw refuse(attributes, (error as Error).message);
      attributes.annotate?.(this.#auditKey("failed-open"), "true");
      return;
    }
    const ttl = answer.isAllowed ? allowTtlMs : denyTtlMs;
    if (ttl > 0) {
      this.#answers ??= new LRUCache({ max: ANSWERS_MAX });
      this.#answers.set(key, answer, { ttl });
    }
    this.#apply(attributes, answer);
  }

  /** @throws {StatusError} 403 */
  #apply(attributes: AdmissionAttributes, { isAllowed, reason, auditAnnotations }: Answer): void {
    for (const [key, value] of Object.entries(auditAnnotations)) {
      attributes.annotate?.(this.#auditKey(key), String(value));
    }
    if (isAllowed) return;
    throw refuse(
      attributes,
      reason === ""
        ? "one or more images rejected by webhook backend"
        : `image policy webhook backend denied one or more images: ${reason}`,
    );
  }

  #auditKey(suffix: string): string {
    return `imagepolicywebhook.image-policy.${this.#parts.naming.groupDomain}/${suffix}`;
  }

  /** Those that are for the webhook. */
  #annotationsOf({ metadata }: ApiObject): Readonly<Record<string, string>> {
    const mark = `.image-policy.${this.#parts.naming.groupDomain}/`;
    const entries = Object.entries(metadata.annotations ?? {});
    return Object.fromEntries(entries.filter(([name]) => name.includes(mark)).sort());
  }
}

function imagesOf({ spec }: ApiObject, subresource: string): readonly string[] {
  const { containers, initContainers, ephemeralContainers } = (spec ?? {}) as ImageUsers;
  const users =
    subresource === EPHEMERAL
      ? (ephemeralContainers ?? [])
      : [...(containers ?? []), ...(initContainers ?? [])];
  return users.map(({ image = "" }) => image);
}

/** @throws {Error} for what is no status of a review */
function parseAnswer({
  allowed = false,
  reason = "",
  auditAnnotations = {},
}: Readonly<Record<string, unknown>>): Answer {
  const isMap = typeof auditAnnotations === "object" && auditAnnotations !== null;
  if (typeof allowed !== "boolean" || typeof reason !== "string" || !isMap) {
    throw new Error("the webhook's answer is malformed");
  }
  return {
    isAllowed: allowed,
    reason,
    auditAnnotations: auditAnnotations as Readonly<Record<string, unknown>>,
  };
}
