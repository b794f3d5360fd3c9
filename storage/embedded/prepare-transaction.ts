/**
 * Validates a transaction on entry: checks its keys and sizes and copies its values, so that
 * nothing about it can change or fail later.
 */
import { StorageError } from "../kv/errors.js";
import type { LeaseId, Operation, Transaction } from "../kv/store.js";
import type { PreparedOperation, PreparedTransaction } from "./group-plan.js";
import { KEY_BYTES_MAX, newVersion } from "./records.js";

/** Keys and values of one transaction together; the same as etcd takes by default. */
const TRANSACTION_BYTES_MAX = 1.5 * 1024 * 1024;
/** Keeps one transaction from stalling the others; etcd takes 128 by default. */
const OPERATIONS_MAX = 1024;

/** @throws {StorageError} TooLarge, Refused */
export function prepareTransaction({ compares, operations }: Transaction): PreparedTransaction {
  if (operations.length > OPERATIONS_MAX || compares.length > OPERATIONS_MAX) {
    throw new StorageError("Refused", `more than ${OPERATIONS_MAX} operations or compares`);
  }
  for (const { key } of compares) checkKey(key);
  let bytes = 0;
  for (const operation of operations) {
    checkKey(operation.key);
    bytes += operation.key.length + (operation.type === "put" ? operation.value.length : 0);
  }
  if (bytes > TRANSACTION_BYTES_MAX) {
    throw new StorageError("TooLarge", `${bytes} bytes are more than ${TRANSACTION_BYTES_MAX}`);
  }
  checkDistinct(operations);
  const makesRoom = operations.length === 0 || operations.some(({ type }) => type === "delete");
  return { compares, operations: operations.map(prepareOperation), bytes, makesRoom };
}

/**
 * A zero byte ends the key in a history key, a lone surrogate has no UTF-8 form of its own, and an
 * empty key is not allowed.
 */
const unusableKey = /^$|[\0\p{Surrogate}]/u;

function checkKey(key: string): void {
  if (unusableKey.test(key)) {
    throw new StorageError("Refused", `not a key: ${JSON.stringify(key.slice(0, 200))}`);
  }
  if (key.length * 3 > KEY_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX) {
    throw new StorageError("TooLarge", `a key has more than ${KEY_BYTES_MAX} bytes`);
  }
}

function checkDistinct(operations: readonly Operation[]): void {
  if (operations.length < 2) return;
  if (new Set(operations.map(({ key }) => key)).size < operations.length) {
    throw new StorageError("Refused", "a transaction writes the same key twice");
  }
}

function prepareOperation(operation: Operation): PreparedOperation {
  if (operation.type === "delete") return operation;
  const { type, key, value, lease } = operation;
  return { type, key, version: newVersion(value), lease: numberOf(lease) };
}

function numberOf(lease: LeaseId | undefined): number {
  if (lease === undefined) return 0;
  const number = Number(lease);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new StorageError("Refused", `not a lease of this store: ${lease.slice(0, 100)}`);
}
