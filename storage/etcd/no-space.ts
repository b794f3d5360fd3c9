/**
 * What became of a write that etcd refused for want of space. etcd refuses writes before it applies them while
 * its NOSPACE alarm is on, but the one that crosses the quota is applied and refused with the same words.
 * So the keys are read again, all at one revision, and the answer is that of the write itself.
 */
import { StorageError } from "../kv/errors.js";
import type { CommitResult, Compare, KeyValue, Operation, Transaction } from "../kv/store.js";

/** Commits a transaction without operations, which is a linearizable read. */
export type ReadCompares = (check: Transaction) => Promise<CommitResult>;

/**
 * The result of a transaction that was applied. @throws {StorageError} NoSpace; its outcome is only
 * unknown where another write has come between, or the keys cannot be read
 */
export async function settleNoSpace(
  transaction: Transaction,
  refusal: StorageError,
  read: ReadCompares,
): Promise<CommitResult> {
  const compares = withEveryKey(transaction);
  let found: CommitResult;
  try {
    found = await read({ compares, operations: [] });
  } catch {
    // The refusal says more than that nothing can be read either.
    throw refusal;
  }
  const state = found.succeeded ? "untouched" : stateOf(transaction, compares, found.current);
  if (state === "unknown") throw refusal;
  if (state === "untouched") {
    throw new StorageError("NoSpace", refusal.message, { cause: refusal.cause });
  }
  return { succeeded: true, revision: state };
}

/** The compares, and one for each other key that is written, as only compared keys are read. */
function withEveryKey({ compares, operations }: Transaction): readonly Compare[] {
  const known = new Set(compares.map(({ key }) => key));
  const others = operations.filter(({ key }) => !known.has(key));
  return [...compares, ...others.map(({ key }) => ({ key, modRevision: 0 as const }))];
}

function stateOf(
  { compares, operations }: Transaction,
  read: readonly Compare[],
  current: readonly (KeyValue | undefined)[],
): KeyValue["modRevision"] | "untouched" | "unknown" {
  const now = new Map(read.map(({ key }, index) => [key, current[index]]));
  const before = new Map(compares.map(({ key, modRevision }) => [key, modRevision]));
  for (const { type, key } of operations) {
    const mod = before.get(key);
    // Deleting what does not exist leaves no trace.
    if (mod === undefined || (mod === 0 && type === "delete")) continue;
    if ((now.get(key)?.modRevision ?? 0) === mod) return "untouched";
  }
  const puts = operations.filter((operation) => operation.type === "put");
  const revision = now.get(puts[0]?.key ?? "")?.modRevision;
  if (revision === undefined) return "unknown";
  const isDone = operations.every((operation) =>
    isThere(operation, now.get(operation.key), revision),
  );
  return isDone ? revision : "unknown";
}

function isThere(
  operation: Operation,
  kv: KeyValue | undefined,
  revision: KeyValue["modRevision"],
): boolean {
  if (operation.type === "delete") return kv === undefined;
  return kv?.modRevision === revision && kv.value.equals(operation.value);
}
