/**
 * MutatingAdmissionWebhook: calls webhooks that may change an object, one after another, each with the
 * result of those before it. A change is a JSON patch of the sent object; the result is decoded,
 * defaulted and converted to admission's form. It is validated later with the rest of the object.
 */

import { isJsonObject } from "../../api/json-object.js";
import { applyJsonPatch, parseJsonPatch } from "../../api/json-patch.js";
import { JsonPatchFailure } from "../../api/json-patch-failure.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { internalError, StatusError } from "../../api/status.js";
import { countValues } from "../../client/read-answer.js";
import { limitsOf } from "../../codec/body-values.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf, waitForOthers } from "../../request/lazy-signal.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";
import { parseJson } from "../../schema/parse-json.js";
import type {
  AdmissionAttributes,
  AdmissionOperation,
  AdmissionPlugin,
  AdmissionResource,
} from "../admission.js";
import type { Candidate, CriteriaIndex } from "../matching/criteria-index.js";
import { isExempt, type RuleContext, RuleMatcher } from "../matching/rule-context.js";
import type { StoredRules } from "../matching/stored-rules.js";
import { decodeServed, fromServed } from "../matching/write-subject.js";
import { type RoundMemory, Rounds } from "../rounds.js";
import { explainOthers } from "./explain-others.js";
import { CallFailure } from "./failures.js";
import type { Hook } from "./hook.js";
import { type Asker, askWebhook, type Invocation, invocationOf } from "./invocation.js";
import { storedHooks } from "./stored-hooks.js";
import type { Answered, WebhookCaller } from "./webhook-caller.js";

export class MutatingWebhooks implements AdmissionPlugin {
  readonly name = "MutatingAdmissionWebhook";
  readonly #context: RuleContext;
  readonly #caller: WebhookCaller;
  readonly #rules: StoredRules<Hook>;

  constructor(context: RuleContext, caller: WebhookCaller) {
    this.#context = context;
    this.#caller = caller;
    this.#rules = storedHooks(context, "mutatingwebhookconfigurations");
  }

  handles(_operation: AdmissionOperation, resource: AdmissionResource): boolean {
    return this.#rules.count(isExempt(this.#context.naming, resource)) > 0;
  }

  subscribe(changed: () => void): void {
    this.#rules.subscribe(changed);
  }

  mutate(attributes: AdmissionAttributes, source: SignalSource): boolean | Promise<boolean> {
    const { served, operation, subresource } = attributes;
    if (served === undefined) return false;
    const index = this.#rules.indexFor(isExempt(this.#context.naming, served));
    explainOthers(this.#context, index, attributes, served, this.name);
    if (!index.hasAny(operation, served, subresource)) return false;
    // Looks ahead, so that a write without matching webhooks stays synchronous.
    const candidates = index.candidates({ attributes, served });
    if (candidates.length === 0) return false;
    const signal = signalOf(source);
    const matcher = new RuleMatcher(this.#context, attributes, served, signal);
    const run = new MutatingRun({ index, candidates, matcher, caller: this.#caller, signal });
    return waitForOthers(source, run.run());
  }
}

const ASKER: Asker = { plugin: "MutatingAdmissionWebhook", step: "admit" };

interface RunOptions {
  readonly index: CriteriaIndex<Hook>;
  readonly candidates: readonly Candidate<Hook>[];
  readonly matcher: RuleMatcher;
  readonly caller: WebhookCaller;
  readonly signal: AbortSignal;
}

/** One pass through the webhooks. */
class MutatingRun {
  readonly #index: CriteriaIndex<Hook>;
  readonly #matcher: RuleMatcher;
  readonly #caller: WebhookCaller;
  readonly #signal: AbortSignal;
  readonly #rounds: Rounds;
  readonly #memory: RoundMemory;
  #candidates: readonly Candidate<Hook>[];

  constructor({ index, candidates, matcher, caller, signal }: RunOptions) {
    const { attributes } = matcher.subject;
    attributes.rounds ??= new Rounds();
    this.#index = index;
    this.#matcher = matcher;
    this.#caller = caller;
    this.#signal = signal;
    this.#rounds = attributes.rounds;
    this.#memory = attributes.rounds.memoryOf(ASKER.plugin);
    this.#candidates = candidates;
  }

  async run(): Promise<boolean> {
    const { subject } = this.#matcher;
    if (this.#rounds.isSecond && !this.#memory.isAsLeft(this.#text())) {
      this.#memory.changed();
    }
    let isChanged = false;
    let last = -1;
    for (;;) {
      const candidate = this.#candidates.find(({ position }) => position > last);
      if (candidate === undefined) break;
      last = candidate.position;
      const hook = candidate.value;
      const waiting = invocationOf(this.#matcher, candidate, ASKER);
      const invocation = waiting instanceof Promise ? await waiting : waiting;
      if (invocation === undefined) continue;
      if (this.#rounds.isSecond && !this.#memory.isDue(hook.id)) continue;
      const changed = await this.#ask(invocation, last);
      if (changed) {
        isChanged = true;
        this.#memory.changed();
        this.#rounds.want();
        // Labels may have changed, and with them the matching webhooks.
        this.#candidates = this.#index.candidates(subject);
      }
      if (hook.isReinvocable) this.#memory.asked(hook.id);
    }
    this.#memory.leave(this.#text());
    return isChanged;
  }

  #text(): string {
    const { subject } = this.#matcher;
    const object = subject.object(subject.served);
    return object === undefined ? "" : subject.served.codec.encode(object);
  }

  /** @param position among all webhooks, for the audit record */
  async #ask(invocation: Invocation, position: number): Promise<boolean> {
    const { hook } = invocation;
    const { subject } = this.#matcher;
    const place = `round_${this.#rounds.isSecond ? 1 : 0}_index_${position}`;
    const asking = { ...ASKER, place };
    let changed = false;
    let answered: Answered | undefined;
    const use = (answer: Answered) => {
      answered = answer;
      changed = this.#apply(invocation, answer);
    };
    try {
      await askWebhook(this.#matcher, this.#caller, invocation, asking, this.#signal, use);
    } finally {
      this.#annotate(hook, place, changed ? answered : undefined);
    }
    if (changed) {
      this.#matcher.explain({
        plugin: ASKER.plugin,
        configuration: hook.configuration,
        rule: hook.name,
        outcome: "changed",
        why: answered?.answer.patch ?? "",
        milliseconds: 0,
      });
      subject.forgetVersions();
    }
    return changed;
  }

  /** @returns whether the object changed. @throws {StatusError} 500, {CallFailure} */
  #apply({ hook, resource }: Invocation, { sent, answer }: Answered): boolean {
    const { attributes } = this.#matcher.subject;
    if (answer.patch === undefined) return false;
    if (answer.patchType !== "JSONPatch") {
      const type = JSON.stringify(answer.patchType.slice(0, 100));
      throw new CallFailure(
        hook.name,
        `received invalid webhook response: unsupported patch type ${type}`,
        { code: 400 },
      );
    }
    const operations = decodePatch(hook.name, answer.patch, limitsOf(resource.kind).values);
    if (operations.length === 0) return false;
    if (sent.object === undefined) {
      const why = "attempted to modify the object, which is not supported for this operation";
      throw internalError(`admission webhook ${JSON.stringify(hook.name)} ${why}`);
    }
    const made = makeObject(resource, sent.object, operations);
    if (made.text === sent.object) return false;
    attributes.object = made.object;
    return true;
  }

  /** @param used the answer that changed the object */
  #annotate({ configuration, name }: Hook, place: string, used: Answered | undefined): void {
    const { context, subject } = this.#matcher;
    const at = `webhook.admission.${context.naming.groupDomain}/${place}`;
    const said = { configuration, webhook: name, mutated: used !== undefined };
    subject.attributes.annotate?.(`mutation.${at}`, JSON.stringify(said));
    if (used?.answer.patch === undefined) return;
    const { patch, patchType } = used.answer;
    const shown = `{"configuration":${JSON.stringify(configuration)},"webhook":${JSON.stringify(name)},"patch":${patch},"patchType":"${patchType}"}`;
    subject.attributes.annotate?.(`patch.${at}`, shown, "objects");
  }
}

/** @throws {CallFailure} if the patch is no list of operations; their content is checked later */
function decodePatch(hook: string, patch: string, valuesMax: number): JsonObject[] {
  const fail = (why: string, cause?: unknown) =>
    new CallFailure(hook, `received undecodable patch in webhook response: ${why}`, { cause });
  if (countValues(patch) > valuesMax) throw fail(`it has more than ${valuesMax} values`);
  let decoded: JsonValue;
  try {
    decoded = parseJson(Buffer.from(patch));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw fail(error.message, error);
    throw error;
  }
  if (!Array.isArray(decoded) || !decoded.every(isJsonObject)) {
    throw fail("a JSON patch is an array of operations");
  }
  return decoded;
}

/** @throws {StatusError} 500: an operation is unknown or does not apply, or the result is no object of the kind */
function makeObject(
  resource: ServedResource,
  sent: string,
  patch: JsonObject[],
): { readonly object: ApiObject; readonly text: string } {
  try {
    const operations = parseJsonPatch(patch);
    const object = decodeServed(applyJsonPatch(parseJson(Buffer.from(sent)), operations), resource);
    const text = resource.codec.encode(object);
    return { object: fromServed(object, resource), text };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.code === 500) throw error;
    throw internalError(error instanceof JsonPatchFailure ? error.why : error.message, error);
  }
}
