/**
 * The image, built by an engine from deploy/Dockerfile as it is (image/engine.ts), and everything that is started of it, from its files and as
 * its user: servers over both stores, loops, probes, the health check, the chart's hook, test and backup. That takes minutes, so an
 * image of the same contents (image/content.ts) is not tried again; the long run always builds, and twice, for the same bytes.
 * e2e/deploy.test.ts takes the same steps in folders.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { isLong } from "./harness/is-long.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { contentDigest } from "./image/content.js";
import {
  buildImage,
  type Engine,
  engineIn,
  keptFile,
  makeBase,
  sizeAboveBase,
} from "./image/engine.js";
import { startEtcd } from "./tools/etcd.js";
import { findTool, repositoryRoot } from "./tools/find-tool.js";
import { freePort } from "./tools/free-port.js";

const ROOT = repositoryRoot();
const IMAGE = "localhost/keelson";
const AGAIN = "localhost/keelson-again";
const BYTES_ABOVE_BASE_MAX = 60 * 2 ** 20;
/** The digest of what passed last. */
const PASSED = keptFile("passed");

const run = promisify(execFile);
const readChart = (name: string) => readFile(join(ROOT, "helm/keelson/files", name), "utf8");

async function reasonToSkip(): Promise<string | false> {
  if (process.getuid?.() !== 0) return "building an image in a chroot needs root";
  for (const tool of ["buildah", "mmdebstrap"] as const) {
    if ((await findTool(tool)) === undefined) return `${tool} is not to be had`;
  }
  return false;
}

const skip = await reasonToSkip();

test("P1: an engine builds the image, which is small and the same again, and runs all that the chart starts", {
  skip,
}, async (t) => {
  const digest = await contentDigest();
  if (!isLong && (await readFile(PASSED, "utf8").catch(() => "")) === digest) {
    return t.diagnostic("the same image has passed before");
  }
  await using folder = await makeTempDir("image-store");
  const buildah = await engineIn(folder.path);
  await makeBase(buildah);
  await buildImage(buildah, IMAGE);
  const bytes = await sizeAboveBase(buildah, IMAGE);
  t.diagnostic(`${Math.round(bytes / 2 ** 20)} MiB above its base`);
  assert.ok(bytes < BYTES_ABOVE_BASE_MAX);

  await using etcd = await startEtcd();
  const container = await buildah("from", IMAGE);
  const inside = (script: string) =>
    buildah("run", "--network=host", container, "--", "sh", "-ec", FUNCTIONS + script);
  assert.equal(await inside("id -u"), "65532");
  await t.test(
    "a server is healthy, its allocator is there, and nothing of it can be changed",
    () => serves(inside),
  );
  await t.test("the chart's test, hook and backup do what they are for", () =>
    helps(inside, etcd.endpoint),
  );
  await t.test("replicas and loops over etcd answer the chart's probes", () =>
    worksOverEtcd(inside, etcd.endpoint),
  );
  if (isLong) await isTheSameAgain(t, buildah);
  await writeFile(PASSED, digest);
});

type Inside = (script: string) => Promise<string>;

/** For the scripts that run inside: what waits for words in a log, and asks. */
const FUNCTIONS = `
cd /var/lib/keelson
waits() { for i in $(seq 600); do grep -q "$2" "$1" && return; kill -0 $3 || break; sleep 0.2; done; cat "$1"; exit 1; }
evaluate() { node --input-type=module --eval "$1"; }
`;

async function serves(inside: Inside): Promise<void> {
  const text = await readFile(join(ROOT, "deploy", "Dockerfile"), "utf8");
  const [, check = ""] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(text) ?? assert.fail();
  const [, , health = ""] = JSON.parse(check) as string[];
  const port = await freePort();
  const said = await inside(`
    keelson serve --data-dir=data --bind-address=127.0.0.1 --secure-port=${port} > log 2>&1 & server=$!
    waits log ' ready' $server
    KEELSON_PORT=${port} node -e ${quote(health)} && echo healthy
    grep -q jemalloc /proc/$server/maps && echo jemalloc
    kill $server && wait $server && echo ended
    if touch /opt/keelson/x 2> /dev/null; then echo writable; fi`);
  assert.equal(said, "healthy\njemalloc\nended");
}

/** The cluster that the chart is installed in is another server of the image. */
async function helps(inside: Inside, endpoint: string): Promise<void> {
  const [api, hook, backup] = await Promise.all(
    ["test-api.mjs", "make-certificates.mjs", "take-backup.mjs"].map(readChart),
  );
  const port = await freePort();
  const withTokens = hook?.replace("/var/run/secrets/kubernetes.io/serviceaccount", "/tmp/account");
  const said = await inside(`
    echo 'secret,chart,1,"system:masters"' > tokens
    keelson serve --data-dir=cluster --bind-address=127.0.0.1 --secure-port=${port} --token-auth-file=tokens > log 2>&1 & server=$!
    waits log ' ready' $server
    export KEELSON_URL=https://127.0.0.1:${port}
    evaluate ${quote(api ?? "")}
    mkdir -p /tmp/account /tmp/backup
    cp cluster/pki/serving-ca.crt /tmp/account/ca.crt
    printf secret > /tmp/account/token
    export KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=${port}
    export SECRET_NAMESPACE=default SECRET_NAME=made SERVING_NAMES=api.example VENDOR=kubernetes
    evaluate ${quote(withTokens ?? "")} | sed 's/for .*, /for /'
    evaluate ${quote(withTokens ?? "")}
    for turn in 1 2; do
      ETCD_ENDPOINTS=${endpoint} KEEP=1 evaluate ${quote(backup?.replace('"/backup"', '"/tmp/backup"') ?? "")} | sed 's/etcd-[0-9TZ]*/etcd-TIME/; s/[0-9]* bytes/SIZE/'
      sleep 1
    done
    kill $server && wait $server`);
  assert.deepEqual(said.split("\n"), [
    "/livez: ok",
    "/readyz: ok",
    "/version: ok",
    "/api/v1/secrets: ok",
    "certificate: not verified",
    "made: a new certificate for api.example",
    "made: the certificate is good",
    "etcd-TIME.db: SIZE",
    "etcd-TIME.db: SIZE",
    "etcd-TIME.db: removed",
  ]);
}

async function worksOverEtcd(inside: Inside, etcd: string): Promise<void> {
  const [port, loops] = [await freePort(), await freePort()];
  const ask = (url: string) =>
    `evaluate ${quote(`process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"; console.log((await fetch("${url}")).status)`)} 2> /dev/null`;
  const said = await inside(`
    keelson serve --data-dir=replica --bind-address=127.0.0.1 --secure-port=${port} --run-controllers=false --etcd-servers=${etcd} > replica.log 2>&1 & replica=$!
    waits replica.log ' ready' $replica
    keelson controllers --etcd-servers=${etcd} --metrics-bind-address=127.0.0.1:${loops} > loops.log 2>&1 & loops=$!
    waits loops.log leading $loops
    ${["livez", "readyz"].map((path) => ask(`https://127.0.0.1:${port}/${path}`)).join("\n")}
    ${["livez", "readyz", "metrics"].map((path) => ask(`http://127.0.0.1:${loops}/${path}`)).join("\n")}
    kill $loops && wait $loops
    kill $replica && wait $replica
    echo ended`);
  assert.deepEqual(said.split("\n"), ["200", "200", "200", "200", "200", "ended"]);
}

/** What V8 kept of the first start depends on how far it was when; the rest is what another build makes. */
async function isTheSameAgain(t: TestContext, buildah: Engine): Promise<void> {
  await buildImage(buildah, AGAIN);
  const [first = "", second = ""] = await Promise.all(
    [IMAGE, AGAIN].map(async (name) => {
      const container = await buildah("from", name);
      const root = await buildah("mount", container);
      const list = `find . -xdev -type f -not -path './opt/keelson/compile-cache/*' -print0 | sort -z | xargs -0 sha256sum`;
      const { stdout } = await run("sh", ["-c", list], { cwd: root, maxBuffer: 64 * 2 ** 20 });
      await buildah("rm", container);
      return stdout;
    }),
  );
  const before = new Set(first.split("\n"));
  t.diagnostic(`${before.size - 1} files`);
  assert.deepEqual(
    second.split("\n").filter((line) => !before.has(line)),
    [],
  );
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
