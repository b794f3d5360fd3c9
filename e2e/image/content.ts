/** What the image is made of, and what it is tried with, as one digest: as long as it stays, neither changes. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { repositoryRoot } from "../tools/find-tool.js";

const ROOT = repositoryRoot();
const FILES = [
  "package.json",
  "package-lock.json",
  ".npmrc",
  "deploy/Dockerfile",
  "deploy/Dockerfile.dockerignore",
  "deploy/bundle.mjs",
  "deploy/image-modules.mjs",
  "dist/e2e/image.test.js",
];
/** Without their subfolders. */
const FOLDERS = [
  "dist/bundle",
  "dist/server/types/facts",
  "dist/server/console/page",
  "dist/e2e/image",
  "helm/keelson/files",
];

/** Of the sources only what the bundle took of them counts. */
export async function contentDigest(): Promise<string> {
  const digest = createHash("sha256");
  const inFolders = await Promise.all(FOLDERS.map(filesIn));
  for (const file of [...FILES, ...inFolders.flat()].sort()) {
    const content = createHash("sha256").update(await readFile(join(ROOT, file)));
    digest.update(`${file} ${content.digest("hex")}\n`);
  }
  return digest.digest("hex");
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".map"));
  return files.map(({ name }) => `${folder}/${name}`);
}
