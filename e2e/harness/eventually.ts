/** Waits for something that becomes true outside this process, with a deadline and a clear end. */

/**
 * How long tests wait for what must come. It only decides how long a failing test takes, so it is one for all of them and longer
 * than anything takes on half a core beside other work. A test that needs a shorter one says what it proves by it.
 */
export const DEADLINE_MS = 120_000;
/** Between two probes, at first; each wait is half as long again as the one before, up to the maximum. */
const FIRST_WAIT_MS = 5;
const WAIT_MS_MAX = 150;

/** Thrown by a probe when waiting longer is of no use. */
export class HopelessError extends Error {
  override readonly name = "HopelessError";
}

/**
 * Repeats `probe` until it neither throws nor answers `undefined` or `false`, and gives its answer.
 * @throws {Error} what `probe` last complained about, when the deadline passes
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 1.5, WAIT_MS_MAX)) {
    let complaint: unknown;
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      if (error instanceof HopelessError) throw error;
      complaint = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: complaint });
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

/** Of a call that must be answered before the deadline. It keeps no process alive. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(DEADLINE_MS);
}

/** @throws {Error} when `promise` takes longer than the deadline */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
