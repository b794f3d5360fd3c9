/**
 * WriteNotes: what is known of a write on its way and is nowhere in what it stores: the revision that its sender
 * says it was made upon, its field manager, and what else has a hand in it. They travel with the request, as its
 * signal does; where nobody records there are none.
 */

import { compareMember, formatFieldPath, type TakeChange } from "../api/changed-fields.js";

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
const PATHS_MAX = 16;
/** The server gives them whatever is sent. */
const BOOKKEPT: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);
type Members = Readonly<Record<string, unknown>>;

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

  /** A write that is tried again names the same again. */
  add(cause: NamedCause): void {
    const { by, name } = cause;
    if (this.causes.some((known) => known.by === by && known.name === name)) return;
    if (this.causes.length < CAUSES_MAX) this.causes.push(cause);
  }

  /** Which fields have their defaults. @param sent JSON of a body, unchecked */
  noteDefaults(sent: unknown, object: object): void {
    if (typeof sent !== "object" || sent === null) return;
    const paths: string[] = [];
    const take: TakeChange = (steps, before) => {
      if (before === undefined) paths.push(formatFieldPath(steps));
      return paths.length < PATHS_MAX;
    };
    for (const name in object) {
      // Each write of any object passes here, and most of a small one is its metadata.
      if (BOOKKEPT.has(name)) continue;
      const before = Object.hasOwn(sent, name) ? (sent as Members)[name] : undefined;
      if (!compareMember(name, before, (object as Members)[name], take)) break;
    }
    if (paths.length > 0) this.add({ by: "defaulting", name: "", paths });
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
