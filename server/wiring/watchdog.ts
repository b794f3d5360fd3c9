/**
 * The watchdog of systemd (sd_watchdog_enabled(3)): it is told again and again that this process is alive, which takes a turn of the
 * thread each time, so it hears nothing of one that hangs, and restarts it. Node.js has no datagram sockets: a small shell,
 * started once, passes each beat on. A process that nobody watches starts nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Logger } from "../../storage/base/logger.js";

/** Ends with this process, as its input does. */
const MESSENGER = "while read -r beat; do systemd-notify WATCHDOG=1; done";
/** Two may be late or lost. */
const BEATS_PER_DEADLINE = 3;

export interface WatchdogOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether there is more to it than turns of the thread; a process that is not well is restarted, too. */
  isWell(): boolean;
  readonly logger: Logger;
}

/** Beats until it is disposed of, or the process ends. */
export function startWatchdog({ env, isWell, logger }: WatchdogOptions): Disposable {
  const deadlineMs = deadlineOf(env);
  let messenger: ChildProcess | undefined;
  const beat = () => {
    if (!isWell()) return;
    messenger ??= startMessenger(env, () => {
      messenger = undefined;
    });
    messenger.stdin?.write("\n");
  };
  if (deadlineMs === undefined) return { [Symbol.dispose]() {} };
  logger.info({ deadlineMs }, "the service manager is told that this process is alive");
  beat();
  const timer = setInterval(beat, deadlineMs / BEATS_PER_DEADLINE);
  timer.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      messenger?.stdin?.end();
    },
  };
}

/** Undefined: nobody watches, or not this process. */
function deadlineOf(env: WatchdogOptions["env"]): number | undefined {
  const { NOTIFY_SOCKET = "", WATCHDOG_USEC = "", WATCHDOG_PID } = env;
  const isForOther = WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid);
  if (NOTIFY_SOCKET === "" || isForOther || !/^[1-9]\d*$/.test(WATCHDOG_USEC)) return undefined;
  return Number(WATCHDOG_USEC) / 1_000;
}

/** It holds up nobody's end. */
function startMessenger(env: WatchdogOptions["env"], ended: () => void): ChildProcess {
  const child = spawn("/bin/sh", ["-c", MESSENGER], { env, stdio: ["pipe", "ignore", "inherit"] });
  child.once("exit", ended);
  child.once("error", ended);
  child.stdin?.on("error", () => {});
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}
