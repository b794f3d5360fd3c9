/**
 * AuditRecorder: from requests to records. It knows the policy in force, makes the record of a stage
 * once, and gives it to every backend, each with its own batches and its own bound on a record's size.
 */
import type { JsonValue } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { AuditCapture } from "../request/audit-capture.js";
import type { RequestInfo } from "../request/request-info.js";
import type { UserInfo } from "../request/user-info.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";
import type { AuditBatch } from "./audit-batch.js";
import {
  type AuditEvent,
  type AuditedRequest,
  type AuditFormat,
  toAuditEvent,
} from "./audit-event.js";
import { ruleFor } from "./evaluate-policy.js";
import { legacyLine } from "./legacy-line.js";
import type { AuditLevel, AuditPolicy, AuditRule, AuditStage } from "./policy.js";

/** A backend with what it bounds. */
export interface AuditOutlet {
  readonly batch: AuditBatch;
  readonly format: AuditFormat;
  /** The limit of one record. Larger records lose their objects; a record still too large is dropped. 0 = no limit. */
  readonly eventBytesMax: number;
}

export interface AuditRecorderOptions {
  readonly naming: Naming;
  readonly policy: AuditPolicy;
  readonly outlets: readonly AuditOutlet[];
  /** Told of each request, once: at which level it is recorded, if at all. */
  readonly onRequest: (level: AuditLevel) => void;
  /** Told of each record, once, whatever becomes of it. */
  readonly onEvent: () => void;
  /** Told of each request that is refused as it cannot be recorded. */
  readonly onRejected: () => void;
}

/** Bodies and answers as JSON text; undefined = the level does not ask for them, or there is none. */
interface Objects {
  readonly request: string | undefined;
  readonly response: string | undefined;
}

const NO_OBJECTS: Objects = { request: undefined, response: undefined };

export class AuditRecorder implements AsyncDisposable {
  readonly #options: AuditRecorderOptions;
  #policy: AuditPolicy;

  constructor(options: AuditRecorderOptions) {
    this.#options = options;
    this.#policy = options.policy;
  }

  /** From now on requests are recorded by this; those under way keep their rule. */
  replacePolicy(policy: AuditPolicy): void {
    this.#policy = policy;
  }

  get naming(): Naming {
    return this.#options.naming;
  }

  /** The rule for a request, asked for once; undefined = it is not recorded. */
  ruleFor(user: UserInfo | undefined, info: RequestInfo | undefined): AuditRule | undefined {
    const rule = ruleFor(this.#policy, user, info);
    this.#options.onRequest(rule?.level ?? "None");
    return rule;
  }

  noteRejected(): void {
    this.#options.onRejected();
  }

  /** Whether a request waits for its records, or is refused when its first one cannot be made. */
  get isStrict(): boolean {
    return this.#options.outlets.some(({ batch }) => batch.mode === "blocking-strict");
  }

  /** @returns whether every backend has it; undefined where nobody waits for that */
  record(
    rule: AuditRule,
    stage: AuditStage,
    request: AuditedRequest,
    capture: AuditCapture | undefined,
  ): Promise<boolean> | undefined {
    if (rule.omitStages.has(stage)) return undefined;
    const { naming, outlets, onEvent } = this.#options;
    onEvent();
    const metadata = toAuditEvent(naming, stage, rule.level, request);
    const objects = stage === "RequestReceived" ? NO_OBJECTS : objectsOf(rule, capture);
    const truncated = `audit.${naming.groupDomain}/truncated`;
    const waits: Promise<boolean>[] = [];
    for (const { batch, format, eventBytesMax } of outlets) {
      const line =
        format === "legacy"
          ? fitting(legacyLine(metadata), eventBytesMax)
          : lineOf(metadata, objects, eventBytesMax, truncated);
      if (line === undefined) {
        batch.drop();
        continue;
      }
      const wait = batch.write(line);
      if (wait !== undefined) waits.push(wait);
    }
    if (waits.length === 0) return undefined;
    return Promise.all(waits).then((recorded) => recorded.every(Boolean));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { batch } of this.#options.outlets) await batch[Symbol.asyncDispose]();
  }
}

function objectsOf(rule: AuditRule, capture: AuditCapture | undefined): Objects {
  if (capture === undefined) return NO_OBJECTS;
  const text = (json: AuditCapture["request"]) => {
    const made = json?.().toString().trim() ?? "";
    if (made === "" || !isJson(made)) return undefined;
    return rule.omitManagedFields ? withoutManagedFields(made) : made;
  };
  return { request: text(capture.request), response: text(capture.response) };
}

/** A body that is no JSON would make the whole line none. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Leaves managedFields out of an object, or out of the items of a list. */
function withoutManagedFields(text: string): string {
  if (!text.includes('"managedFields"')) return text;
  const object = parseJson(text) as {
    metadata?: { managedFields?: unknown };
    items?: { metadata?: { managedFields?: unknown } }[];
  };
  delete object.metadata?.managedFields;
  if (Array.isArray(object.items)) {
    for (const item of object.items) delete item?.metadata?.managedFields;
  }
  return stringifyJson(object as JsonValue);
}

/** The objects go in as they are: their numbers keep their digits. Undefined = too large without them. */
function lineOf(
  metadata: AuditEvent,
  { request, response }: Objects,
  bytesMax: number,
  truncatedAnnotation: string,
): string | undefined {
  const start = JSON.stringify(metadata);
  const parts = [
    request === undefined ? "" : `,"requestObject":${request}`,
    response === undefined ? "" : `,"responseObject":${response}`,
  ].join("");
  const line = `${start.slice(0, -1)}${parts}}`;
  if (fitting(line, bytesMax) !== undefined) return line;
  const annotations = { ...metadata.annotations, [truncatedAnnotation]: "true" };
  return fitting(JSON.stringify({ ...metadata, annotations }), bytesMax);
}

function fitting(line: string, bytesMax: number): string | undefined {
  return bytesMax === 0 || Buffer.byteLength(line) <= bytesMax ? line : undefined;
}
