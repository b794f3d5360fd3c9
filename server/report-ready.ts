/**
 * `--ready-fd`: tells the program that started this one, in whatever language, that the API is ready and where it
 * is: one line of JSON on a file descriptor, which is closed behind it.
 */
import { closeSync, writeSync } from "node:fs";

export interface ReadyLine {
  readonly url: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly pid: number;
}

/** Standard output and error stay open. */
const STANDARD_FD_MAX = 2;

/** @throws {Error} of the system: nobody reads any more */
export function reportReady(fd: number, line: ReadyLine): void {
  writeSync(fd, `${JSON.stringify(line)}\n`);
  if (fd > STANDARD_FD_MAX) closeSync(fd);
}
