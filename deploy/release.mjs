/**
 * `npm run release`: makes everything that a release consists of, in one folder, and says what is left to do by hand.
 * It publishes nothing.
 *
 *   npm run release -- --dry-run                 of the tree as it is, without a tag
 *   npm run release -- --sign-key=key.pem        signs the checksums with an Ed25519 key
 *
 * The folder (default: `release/`) then has the npm package, the chart, the image as an OCI archive, a bill of materials (CycloneDX), checksums
 * of all of them, and the signature of the checksums.
 */
import { execFileSync } from "node:child_process";
import { createHash, createPrivateKey, sign } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

const { values: options } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    "without-tests": { type: "boolean", default: false },
    "without-image": { type: "boolean", default: false },
    "sign-key": { type: "string" },
    out: { type: "string", default: join(ROOT, "release") },
  },
});

const { name, version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const files = (file) => join(options.out, file);

const run = (command, args) =>
  execFileSync(command, args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 64 << 20 });

/** @returns {string | undefined} the first of these programs that is on PATH or among the tests' tools */
function firstOf(...programs) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), join(ROOT, ".tools", "bin"), join(ROOT, ".tools")];
  for (const program of programs) {
    const folder = folders.find((one) => existsSync(join(one, program)));
    if (folder !== undefined) return join(folder, program);
  }
  return undefined;
}

/** What must hold of a release; a dry run goes on without it. */
function require(isSo, sentence) {
  if (isSo) return;
  if (!options["dry-run"]) throw new Error(sentence);
  console.log(`  a release would stop here: ${sentence}`);
}

function checkTree() {
  require(run("git", ["status", "--porcelain"]) === "", "the tree has changes that are not committed");
  const [, heading = ""] = /^## (.+)$/m.exec(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8")) ?? [];
  require(heading.startsWith(`${version} (2`), `CHANGELOG.md begins with "${heading}", not with "${version} (date)"`);
  const chart = readFileSync(join(ROOT, "helm/keelson/Chart.yaml"), "utf8");
  require(chart.includes(`appVersion: "${version}"`) || chart.includes(`appVersion: ${version}`), `Chart.yaml has another appVersion than ${version}`);
  require(run("git", ["tag", "--list", `v${version}`]) === "", `the tag v${version} is there already`);
}

function packPackage() {
  run("npm", ["run", "types", "--silent"]);
  run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", options.out]);
}

function packChart() {
  const helm = firstOf("helm", "helm-4", "helm-3");
  require(helm !== undefined, "there is no helm: the chart is not packed");
  if (helm === undefined) return;
  // Helm would name it as npm names the package, and put it in its place.
  const folder = mkdtempSync(join(tmpdir(), "keelson-chart-"));
  run(helm, ["package", "helm/keelson", "--destination", folder]);
  for (const file of readdirSync(folder)) copyFileSync(join(folder, file), files(file.replace(`${name}-`, `${name}-chart-`)));
  rmSync(folder, { recursive: true });
}

function buildImage() {
  const engine = firstOf("buildah", "podman", "docker");
  require(engine !== undefined, "there is no container engine: the image is not built");
  if (engine === undefined) return;
  const image = `${name}:${version}`;
  const file = "deploy/Dockerfile";
  // Docker looks for these itself.
  const platform = `BUILDPLATFORM=linux/${process.arch === "x64" ? "amd64" : process.arch}`;
  const words = engine.endsWith("docker") ? [] : ["--ignorefile", `${file}.dockerignore`, "--build-arg", platform];
  const archive = files(`${name}-${version}-image.tar`);
  try {
    run(engine, ["build", "-f", file, ...words, "-t", image, "."]);
    if (engine.endsWith("buildah")) run(engine, ["push", image, `oci-archive:${archive}:${image}`]);
    else run(engine, ["save", "-o", archive, image]);
  } catch (error) {
    require(false, `the image was not built: ${error.message.split("\n")[0]}`);
  }
}

/** What is in the package: what npm installs with it, and what the bundle has of packages that only a build needs. */
function writeBillOfMaterials() {
  const sbom = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"];
  const all = JSON.parse(run("npm", sbom));
  const installed = JSON.parse(run("npm", [...sbom, "--omit=dev"])).components.map((component) => component["bom-ref"]);
  const bundled = JSON.parse(readFileSync(join(ROOT, "dist/bundled-packages.json"), "utf8"));
  const kept = new Set([...installed, ...bundled.map((one) => `${one.name}@${one.version}`), all.metadata.component["bom-ref"]]);
  const components = all.components.filter((component) => kept.has(component["bom-ref"])).map(asShipped);
  const dependencies = all.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
  writeFileSync(files(`${name}-${version}.cdx.json`), JSON.stringify({ ...all, components, dependencies }, null, 2));
}

/** npm says of what the bundle has that it is for development. */
function asShipped(component) {
  const isForDevelopment = ({ name: property }) => property === "cdx:npm:package:development";
  if (!component.properties?.some(isForDevelopment)) return component;
  return { ...component, scope: "required", properties: component.properties.filter((one) => !isForDevelopment(one)) };
}

function writeChecksums() {
  const lines = readdirSync(options.out)
    .sort()
    .map((file) => `${createHash("sha256").update(readFileSync(files(file))).digest("hex")}  ${file}\n`);
  writeFileSync(files("SHA256SUMS"), lines.join(""));
}

function signChecksums() {
  const key = options["sign-key"];
  require(key !== undefined, "there is no --sign-key: the checksums are not signed");
  if (key === undefined) return;
  writeFileSync(files("SHA256SUMS.sig"), sign(null, readFileSync(files("SHA256SUMS")), createPrivateKey(readFileSync(key))));
}

const STEPS = [
  ["check the tree, the changelog and the chart", checkTree],
  ["build", () => run("npm", ["run", "build", "--silent"])],
  ...(options["without-tests"] ? [] : [["run all tests", () => execFileSync("npm", ["test"], { cwd: ROOT, stdio: "inherit" })]]),
  ["pack the npm package", packPackage],
  ["pack the chart", packChart],
  ...(options["without-image"] ? [] : [["build the image", buildImage]]),
  ["write the bill of materials", writeBillOfMaterials],
  ["write checksums", writeChecksums],
  ["sign the checksums", signChecksums],
];

rmSync(options.out, { recursive: true, force: true });
mkdirSync(options.out, { recursive: true });
for (const [index, [title, step]] of STEPS.entries()) {
  console.log(`[${index + 1}/${STEPS.length}] ${title}`);
  step();
}
console.log(`\n${name} ${version} is in ${options.out}:`);
for (const file of readdirSync(options.out).sort()) console.log(`  ${file}`);
if (!options["dry-run"]) {
  console.log(`\nLeft to do: git tag -s v${version}, push it, and publish these files with it.`);
}
