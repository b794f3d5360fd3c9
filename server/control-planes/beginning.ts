/**
 * The beginning of a control plane, before it is loaded for the first time: a clone gets its objects, others the objects
 * that all begin with. A key says that it is done; until then whoever loads it does it, or goes on with it.
 */
import type { Operation, Revision, RevisionedStore } from "../../storage/kv/store.js";
import { type ContentSource, contentOf, putContent, type StoredContent } from "./copy-content.js";

export interface BeginningParts {
  /** The control plane's own. */
  readonly store: RevisionedStore;
  /** With a trailing slash. */
  readonly prefix: string;
  /** What it begins with, if it is no clone. */
  readonly defaults: readonly StoredContent[];
}

type OwnStore = Pick<BeginningParts, "store" | "prefix">;

/** Behind the prefix; no object's. */
const BEGUN = ".begun";

/** Whether it has begun: nothing more is written below. @throws {StorageError} */
export async function hasBegun({ store, prefix }: OwnStore, signal: AbortSignal): Promise<boolean> {
  return (await begunAt({ store, prefix }, signal)) !== undefined;
}

/**
 * Says that it has begun, and more in the same transaction. @returns the revision as of which it has: another replica may
 * have been faster @throws {StorageError}
 */
export async function markBegun(
  { store, prefix }: OwnStore,
  more: readonly Operation[],
  signal: AbortSignal,
): Promise<Revision> {
  const key = prefix + BEGUN;
  const put = { type: "put" as const, key, value: Buffer.from("{}") };
  const compares = [{ key, modRevision: 0 as const }];
  const result = await store.commit({ compares, operations: [put, ...more] }, signal);
  const [others] = result.succeeded ? [] : result.current;
  return others?.createRevision ?? result.revision;
}

/**
 * Puts what it begins with.
 * @param original undefined = it is no clone
 * @throws {StorageError} Compacted: the original's state is not kept any more; {RangeError} it had none
 */
export async function putBeginning(
  { store, prefix, defaults }: BeginningParts,
  original: ContentSource | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (original === undefined) {
    await putContent(store, prefix, defaults, signal);
    return;
  }
  let objects = 0;
  for await (const page of contentOf(original, signal)) {
    objects += page.length;
    await putContent(store, prefix, page, signal);
  }
  if (objects === 0) throw new RangeError("what it is cloned from had no objects then");
}

/** When it had all that it began with; undefined = it has not begun. @throws {StorageError} */
export async function begunAt(
  { store, prefix }: OwnStore,
  signal: AbortSignal,
): Promise<Revision | undefined> {
  return (await store.get(prefix + BEGUN, {}, signal)).kv?.createRevision;
}

/** Whether a key, behind the prefix, says that the control plane has begun. */
export function saysBegun(key: string): boolean {
  return key === BEGUN;
}

/** All objects that a control plane has as of a revision. @throws {StorageError} */
export async function readContent(
  own: Pick<ContentSource, "store" | "prefix" | "naming">,
  revision: Revision,
  signal: AbortSignal,
): Promise<readonly StoredContent[]> {
  const found: StoredContent[] = [];
  const source = { ...own, revision, isLeftOut: () => false };
  for await (const page of contentOf(source, signal)) found.push(...page);
  return found;
}
