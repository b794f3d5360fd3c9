/** What a server process costs: CPU time and memory from /proc, counters from its /metrics. */
import { readFile } from "node:fs/promises";
import type { ServerProcess } from "../harness/server-process.js";

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** User and system time so far, in milliseconds. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** The sum of a metric over its labels; `label` keeps only lines that contain it. */
export async function metric(server: ServerProcess, name: string, label = ""): Promise<number> {
  const { text } = await server.client.get("/metrics");
  let sum = 0;
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name}{`) && !line.startsWith(`${name} `)) continue;
    if (label === "" || line.includes(label)) sum += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sum;
}

/** What happened between two calls: `await start()`, then the result's call gives the differences. */
export async function startMeter(pid: number) {
  const startedAtMs = performance.now();
  const before = await cpuMs(pid);
  return async () => ({
    cpuMs: (await cpuMs(pid)) - before,
    elapsedMs: performance.now() - startedAtMs,
  });
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
