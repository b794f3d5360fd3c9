/** The page's files, which deploy/bundle.mjs makes of `page/`; they are read once, when the console starts. */
import { readFile } from "node:fs/promises";

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** By the path that each is served at. */
const FILES = [
  ["/", "index.html", "text/html; charset=utf-8"],
  ["/page.js", "page.js", "text/javascript; charset=utf-8"],
  ["/page.css", "page.css", "text/css; charset=utf-8"],
] as const;

/** @throws {Error} the page was not built */
export async function readPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const read = FILES.map(async ([path, name, type]) => {
    const bytes = await readFile(new URL(`./page/${name}`, import.meta.url));
    return [path, { type, bytes }] as const;
  });
  return new Map(await Promise.all(read));
}
