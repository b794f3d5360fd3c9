/**
 * The answers that webhooks have given about one write. A write that lost against another one, or met a rule
 * that changed, is judged again; a webhook that would be asked the very same is not called for that, because
 * its answer is known, and because each call may have side effects.
 *
 *   How often a webhook is called for one write: once for each state of the object that the write meets (twice
 *   where it is mutating and its reinvocationPolicy is IfNeeded, and others changed the object after it). A create
 *   meets one state, and one more for each generated name that was taken; an update one more for each write of
 *   another client that was faster.
 */
import type { Hook } from "./hook.js";
import type { ReviewAnswer, ReviewText } from "./review.js";

/** What a call came to: an answer, or the failure to give one. */
export type CallResult = { readonly answer: ReviewAnswer } | { readonly failure: Error };

interface Known {
  readonly body: string;
  readonly uid: string;
  readonly result: CallResult;
}

/** As many as one attempt can have: the first call and the second one of a mutating webhook. */
const KNOWN_MAX = 2;

export class AnswersOfWrite {
  /** The newest last. */
  readonly #known = new Map<Hook, readonly Known[]>();

  /** The result of an equal call about this write; undefined = it has to be made. */
  of(hook: Hook, sent: ReviewText): CallResult | undefined {
    const known = this.#known.get(hook);
    if (known === undefined) return undefined;
    const content = contentOf(sent);
    return known.find((one) => contentOf(one) === content)?.result;
  }

  note(hook: Hook, { body, uid }: ReviewText, result: CallResult): void {
    const before = this.#known.get(hook) ?? [];
    this.#known.set(hook, [...before.slice(1 - KNOWN_MAX), { body, uid, result }]);
  }
}

/** A review without what differs between equal ones: its own uid, and the second in which owners were noted. */
function contentOf({ body, uid }: Pick<ReviewText, "body" | "uid">): string {
  return body.replace(uid, "").replace(TIMES_OF_OWNERS, "");
}

const TIMES_OF_OWNERS = /"time":"[-0-9T:]{19}Z",?/g;
