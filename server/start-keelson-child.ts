/**
 * The child of `startKeelson({ runsIn: "child" })`: starts an API when it is told to, says how it is reached, and
 * ends when it is told to or when its parent is gone. Run by fresh-api/api-child.ts only.
 */
import { oneLine } from "../storage/base/one-line.js";
import type { Order, Report } from "./fresh-api/api-child.js";
import { type RunningApi, startHere } from "./fresh-api/api-here.js";
import { linesOf } from "./fresh-api/apply-manifests.js";

async function main(): Promise<boolean> {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  // What it keeps goes at `exit`. Requests of a parent that is gone need no orderly end.
  process.once("disconnect", () => process.exit());
  // Ctrl-C reaches both; the parent decides.
  process.on("SIGINT", () => {});
  const starting = new Promise<RunningApi | undefined>((resolve) => {
    process.on("message", (order: Order) => {
      if ("start" in order) resolve(start(order.start));
      else void starting.then((api) => end(api));
    });
  });
  return (await starting) !== undefined;
}

async function start(order: Parameters<typeof startHere>[0]): Promise<RunningApi | undefined> {
  try {
    const api = await startHere(order);
    report({ access: api.access });
    return api;
  } catch (error) {
    report({ error: linesOf(error).join("\n") });
    return undefined;
  }
}

async function end(api: RunningApi | undefined): Promise<void> {
  try {
    await api?.stop();
    process.exit();
  } catch (error) {
    process.stderr.write(`keelson: ${oneLine(error)}\n`);
    process.exit(1);
  }
}

function report(message: Report): void {
  process.send?.(message);
}

/** Whether an API is ready: then what was compiled is what a start needs (bundled-scripts.ts). */
export const started = main();
