/** Waiting for something that may never come, at an end above all. */
import type { Clock } from "./clock.js";

/** @returns false when it takes longer, whatever becomes of it @throws what `done` rejects with in time */
export async function isOverWithin(
  done: PromiseLike<unknown>,
  ms: number,
  clock: Clock,
): Promise<boolean> {
  const over = new AbortController();
  const late = clock.sleep(ms, over.signal).then(
    () => false,
    () => true,
  );
  try {
    return await Promise.race([Promise.resolve(done).then(() => true), late]);
  } finally {
    over.abort();
  }
}
