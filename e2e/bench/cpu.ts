/** CPU time of a process with all its threads, in microseconds: finer than the hundredths of /proc/PID/stat. */
import { readdir, readFile } from "node:fs/promises";

export async function cpuUs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(
    threads.map(async (thread) => {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "latin1");
      return Number(text.split(" ")[0]) / 1000;
    }),
  );
  return times.reduce((sum, time) => sum + time, 0);
}
