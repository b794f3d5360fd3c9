/** Where there are two cores, the server has the first by itself, all others share the second. */
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

export function pinToServerCore(pid: number): void {
  pin(pid, "0");
}

/** This process; what it starts later inherits the core. */
export function pinGenerator(): void {
  pin(process.pid, "1");
}

function pin(pid: number, core: string): void {
  if (availableParallelism() < 2 && core === "1") return;
  execFileSync("taskset", ["-acp", core, String(pid)], { stdio: "ignore" });
}
