/**
 * WriteNotes: what is known of a write on its way and is nowhere in what it stores: the revision that its sender
 * says it was made upon, its field manager, and what else has a hand in it. They travel with the request, as its
 * signal does; where nobody records there are none.
 */

export interface CauseObject {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Something that says itself what it did. */
export interface NamedCause {
  readonly by:
    | "garbage-collector"
    | "namespace-deletion"
    | "definition-deletion"
    | "admission-webhook"
    | "admission-policy"
    | "defaulting"
    | "conversion"
    | "control-loop";
  /** Of the webhook, the policy or the loop. */
  readonly name: string;
  /** The object because of which. */
  readonly object?: CauseObject;
  /** The fields that it set. */
  readonly paths?: readonly string[];
}

/** More causes of one write are not kept. */
const CAUSES_MAX = 16;
const REVISION = /^[1-9]\d{0,18}$/;

export class WriteNotes {
  /** "" = the sender names none. */
  base = "";
  fieldManager = "";
  isApply = false;
  /** How many objects the request has written. */
  writes = 0;
  readonly causes: NamedCause[] = [];

  /** @param revision of a body or a precondition, unchecked; "" and "0" name none */
  nameBase(revision: unknown): void {
    if (typeof revision === "string" && REVISION.test(revision)) this.base = revision;
  }

  add(cause: NamedCause): void {
    if (this.causes.length < CAUSES_MAX) this.causes.push(cause);
  }
}

const NOTES = Symbol("write notes");

type Carrier = AbortSignal & { [NOTES]?: WriteNotes };

/** @param source a signal, or the state of the request */
export function notesOf(
  source: AbortSignal | { readonly notes?: WriteNotes | undefined },
): WriteNotes | undefined {
  return source instanceof AbortSignal ? (source as Carrier)[NOTES] : source.notes;
}

/** Attaches notes to a request's own signal. */
export function carryNotes(signal: AbortSignal, notes: WriteNotes | undefined): void {
  if (notes !== undefined) (signal as Carrier)[NOTES] = notes;
}
