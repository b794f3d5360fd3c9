/**
 * A fresh API in a child process. The two speak over the channel that Node.js opens between them: it closes when
 * the parent ends, in whatever way, and the child then ends and removes its folder.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { AdminAccess } from "./access.js";
import { DEADLINE_MS, type RunningApi, type StartOrder } from "./api-here.js";
import { within } from "./within.js";

/** From the parent. */
export type Order = { readonly start: StartOrder } | { readonly stop: true };

/** From the child. */
export type Report = { readonly access: AdminAccess } | { readonly error: string };

const COMPLAINT_CHARS_MAX = 4_000;
/** What a child needs beyond the deadline of its API, to say so. */
const GRACE_MS = 5_000;

/** @param program the child's, the emitted start-keelson-child.js */
export async function startChild(program: string, order: StartOrder): Promise<RunningApi> {
  const { logs = false, deadlineMs = DEADLINE_MS } = order.options;
  const child = fork(program, [], {
    stdio: ["ignore", logs ? "inherit" : "ignore", logs ? "inherit" : "pipe", "ipc"],
    execArgv: [],
    env: withoutTestRunner(process.env),
  });
  let complaint = "";
  child.stderr?.on("data", (chunk) => {
    complaint = (complaint + String(chunk)).slice(-COMPLAINT_CHARS_MAX);
  });
  const ended = once(child, "exit");
  const failed = ended.then(() => {
    throw new Error(complaint.trim() || "the API ended at its start");
  });
  // It is raced below, and later nobody asks.
  failed.catch(() => {});
  try {
    send(child, { start: order });
    const report = once(child, "message") as Promise<[Report]>;
    const first = Promise.race([report, failed]);
    const [answer] = await within("the API is not ready", first, deadlineMs + GRACE_MS);
    if ("error" in answer) throw new Error(answer.error);
    const stop = async () => {
      if (child.connected) send(child, { stop: true });
      await ended;
    };
    return { access: answer.access, stop };
  } catch (error) {
    // Its folder goes with it: the channel is closed, and SIGKILL is for a child that hangs.
    if (child.connected) child.disconnect();
    await within("the child has not ended", ended, GRACE_MS).catch(() => child.kill("SIGKILL"));
    await ended;
    throw error;
  }
}

/** A child that is gone is noticed by its exit. */
function send(child: ChildProcess, order: Order): void {
  child.send(order, () => {});
}

/** The runner of the parent's tests waits for nothing of the child's. */
function withoutTestRunner({ NODE_TEST_CONTEXT: _, ...rest }: NodeJS.ProcessEnv) {
  return rest;
}
