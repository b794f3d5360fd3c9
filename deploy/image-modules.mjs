/**
 * What the image has of node_modules: of the packages that the bundle leaves outside (native code) the
 * files that they can load, and nothing else that npm installs.
 *
 *   node deploy/image-modules.mjs list FILE          where esbuild is: writes the paths, the same for all platforms
 *   node deploy/image-modules.mjs copy FILE FOLDER   on the image's platform: copies them, and the native code that this Node.js loads
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";

/** What the bundle requires of node_modules; e2e/deploy.test.ts compares. */
const ROOTS = ["lmdb"];
const MODULES = realpathSync("node_modules");
const [task, list, folder] = process.argv.slice(2);

if (task === "list") writeFileSync(list, `${JSON.stringify(await listFiles(), null, 1)}\n`);
else copyFiles(JSON.parse(readFileSync(list, "utf8")));

async function listFiles() {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    stdin: { contents: ROOTS.map((name) => `require("${name}");`).join("\n"), resolveDir: resolve(".") },
    bundle: true,
    platform: "node",
    write: false,
    metafile: true,
    // Paths below ./node_modules, also where that is a link.
    preserveSymlinks: true,
    logLevel: "error",
  });
  const scripts = Object.keys(metafile.inputs).filter((path) => path.startsWith("node_modules/"));
  const packages = new Set(scripts.map(packageOf));
  const beside = [...packages].flatMap((name) =>
    readdirSync(name, { recursive: true })
      .filter((path) => path.endsWith(".json") && !path.includes(`node_modules${sep}`))
      .filter((path) => path === "package.json" || scripts.includes(`${name}/${path}`))
      .map((path) => `${name}/${path.split(sep).join("/")}`),
  );
  return [...new Set([...scripts, ...beside])].sort();
}

/** "node_modules/a/node_modules/@b/c" of a path below it. */
function packageOf(path) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)[0];
}

function copyFiles(paths) {
  for (const path of [...paths, ...nativePaths()]) {
    const target = join(folder, path.replace(/^node_modules\//, ""));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(path, target);
  }
}

/** The libraries that are in this process once the packages are, with what makes a package of each. */
function nativePaths() {
  const require = createRequire(join(MODULES, "x.js"));
  for (const name of ROOTS) require(name);
  const loaded = process.report.getReport().sharedObjects.filter((path) => path.startsWith(MODULES));
  return loaded.flatMap((path) => {
    const native = `node_modules/${relative(MODULES, path).split(sep).join("/")}`;
    const made = packageOf(native);
    const { main = "index.js" } = JSON.parse(readFileSync(join(made, "package.json"), "utf8"));
    return [native, `${made}/package.json`, `${made}/${main}`];
  });
}
