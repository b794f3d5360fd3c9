/**
 * The second half of `npm run build`: copies the facts beside the emitted modules, and makes a few scripts
 * of a thousand modules, with the parts that only some starts need in scripts of their own. Finding, reading and
 * linking a thousand modules takes a second of CPU at every start; docs/dev/performance.md has figures.
 * `dist/bundle/main.js` (the command), `start-keelson.js` (the package, with its child), and `certificate-hook.js` and
 * `etcd-backup.js` (the chart) beside it run them.
 *
 * They are CommonJS, as only of scripts V8 can be given what it compiled before (server/bundled-scripts.ts).
 * The emitted modules in `dist/server` stay what tests and tools import.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import "reflect-metadata";
import { build, transform } from "esbuild";
import { bundledPackages, licencesOf } from "./bundled-packages.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const DIST = join(ROOT, "dist");
const OUT = join(DIST, "bundle");
const inDist = (name) => join(DIST, "server", name);
const ENTRIES = [
  "main.js",
  "print-version.js",
  "start-keelson.js",
  "start-keelson-child.js",
  "certificate-hook.js",
  "etcd-backup.js",
  "codec/yaml-worker.js",
].map(inDist);
/** They start entries, which lie beside them in the bundle. */
const STARTERS = [...ENTRIES, inDist("codec/yaml-reader.js")];

/** Packages that have native code. All but the first are used where they happen to be. */
const EXTERNAL = ["lmdb", "cbor-extract", "bufferutil", "utf-8-validate"];

/** Modules that read files beside them go on reading them there. Entries stay beside each other. */
const filesStayWhereTheyAre = {
  name: "files-stay-where-they-are",
  setup({ onLoad }) {
    onLoad({ filter: /\/dist\/(server|storage)\/.*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (STARTERS.includes(path) || !text.includes("import.meta.url")) return undefined;
      const place = relative(OUT, path).split(sep).join("/");
      const url = `new URL(${JSON.stringify(place)}, import.meta.url).href`;
      return { contents: text.replaceAll("import.meta.url", url), loader: "js" };
    });
  },
};

/**
 * A package that a start with certificates of its own does not need, and 25 ms of CPU at every start: it is run
 * when the first of its names is read.
 */
const LATE = "@peculiar/x509";
const lateX509 = `
const names = ${JSON.stringify(Object.keys(await import(LATE)))};
for (const name of names) Object.defineProperty(exports, name, { get: () => require("${LATE}")[name], enumerable: true });
`;

/** What of undici is used: its fetch, mocks and caches are half a megabyte more, and 60 ms of CPU at every start. */
const UNDICI = `
Object.assign(require("./lib/dispatcher/dispatcher").prototype, require("./lib/api"));
exports.Pool = require("./lib/dispatcher/pool");
exports.errors = require("./lib/core/errors");
exports.buildConnector = require("./lib/core/connect");
`;

/** The media types that koa itself writes. Ours are written out wherever they are sent. */
const MEDIA_TYPES = ["application/json", "application/octet-stream", "text/html", "text/plain"];

/** Of large packages only what is used, as V8 reads all that is there at every start and keeps its text. */
const partsOfPackages = {
  name: "parts-of-packages",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: new RegExp(`^${LATE}$`), namespace: "file" }, () => ({ path: LATE, namespace: "late" }));
    onLoad({ filter: /.*/, namespace: "late" }, () => ({ contents: lateX509, resolveDir: ROOT }));
    onLoad({ filter: /\/node_modules\/undici\/index\.js$/ }, () => ({ contents: UNDICI }));
    onLoad({ filter: /\/node_modules\/mime-db\/db\.json$/ }, ({ path }) => {
      const all = Object.entries(JSON.parse(readFileSync(path, "utf8")));
      const kept = all.filter(([type]) => MEDIA_TYPES.includes(type));
      return { contents: JSON.stringify(Object.fromEntries(kept)), loader: "json" };
    });
  },
};

/** etcd3 reads its schemas from files beside it: they are made a part of the script that does. */
const schemasOfEtcd3 = {
  name: "schemas-of-etcd3",
  setup({ onLoad, onResolve }) {
    // grpc-js has a use for it that nothing here asks for.
    onResolve({ filter: /^@grpc\/proto-loader$/ }, ({ importer }) =>
      importer.includes("/node_modules/@grpc/grpc-js/") ? { external: true } : undefined,
    );
    onLoad({ filter: /\/node_modules\/etcd3\/lib\/connection-pool\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const call = /loadSync\)\(`\$\{__dirname\}\/\.\.\/proto\/rpc\.proto`/;
      if (!call.test(text)) throw new Error("etcd3 reads its schemas in another way now");
      const { Root } = createRequire(path)("protobufjs");
      const schemas = new Root().loadSync(join(dirname(path), "../proto/rpc.proto"), { keepCase: true }).toJSON();
      return { contents: text.replace(call, () => `fromJSON)(${JSON.stringify(schemas)}`), loader: "js" };
    });
  },
};

/** The console's page: one script and one style for browsers, with the licence of what is in them that is not ours. */
const PAGE = join(ROOT, "server/console/page");
const PAGE_OUT = inDist("console/page");
const page = await build({
  entryPoints: [join(PAGE, "main.tsx"), join(PAGE, "page.css")],
  entryNames: "page",
  outdir: PAGE_OUT,
  bundle: true,
  platform: "browser",
  format: "esm",
  target: "es2024",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  banner: { js: `/*! Contains preact:\n${readFileSync(join(ROOT, "node_modules/preact/LICENSE"), "utf8")}*/` },
  logLevel: "warning",
  metafile: true,
});
cpSync(join(PAGE, "index.html"), join(PAGE_OUT, "index.html"));

cpSync(join(ROOT, "server/types/facts"), join(DIST, "server/types/facts"), { recursive: true });
rmSync(OUT, { recursive: true, force: true });
const bundled = await build({
  entryPoints: ENTRIES,
  outdir: OUT,
  // What is kept of a script holds for its name.
  entryNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node22",
  external: EXTERNAL,
  plugins: [filesStayWhereTheyAre, partsOfPackages, schemasOfEtcd3],
  sourcemap: "inline",
  sourcesContent: false,
  // Beside the scripts, with the whole licences.
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  write: false,
});

mkdirSync(OUT, { recursive: true });
for (const { path, text } of bundled.outputFiles) {
  if (path.endsWith(".js")) await writeScript(path, text);
  else writeFileSync(path, text);
}
const started = Object.entries(bundled.metafile.outputs).flatMap(([path, { entryPoint, exports }]) => {
  const entry = ENTRIES.find((name) => entryPoint && join(ROOT, entryPoint) === name);
  return entry === undefined ? [] : [{ entry, script: toScriptName(path), exports }];
});
/** The command runs it; it is no entry that people name. */
const VERSION = inDist("print-version.js");
const versionScript = started.find(({ entry }) => entry === VERSION).script;
for (const { entry, script, exports } of started) {
  if (entry !== VERSION) await writeEntry(entry, script, exports);
}

const packages = bundledPackages(ROOT, [page.metafile, bundled.metafile]);
writeFileSync(join(DIST, "bundled-packages.json"), `${JSON.stringify(packages, null, 1)}\n`);
writeFileSync(join(OUT, "third-party-licences.txt"), licencesOf(ROOT, packages));

function toScriptName(path) {
  return basename(path).replace(/\.js$/, ".cjs");
}

/** A module as a script that evaluates to a function: the parameters are what CommonJS has, and the URL of a file beside it. */
async function writeScript(path, module) {
  const { code, map } = await transform(module.replace(/^#!/, "//"), {
    sourcefile: basename(path),
    format: "cjs",
    platform: "node",
    target: "node22",
    define: { "import.meta.url": "bundleUrl" },
    supported: { "dynamic-import": false },
    // Names and short lines stay, so that stacks and profiles can be read.
    minifyWhitespace: true,
    lineLimit: 200,
    banner: `(function (exports, require, module, bundleUrl) {"use strict";`,
    footer: "})",
    sourcemap: "external",
    sourcesContent: false,
  });
  const script = join(OUT, toScriptName(path));
  const link = `//# sourceMappingURL=${basename(script)}.map\n`;
  // V8 keeps the text of a script, in two bytes a character as soon as one of them needs two.
  writeFileSync(script, toAscii(neighboursByTheirNames(code)) + link);
  writeFileSync(`${script}.map`, map);
}

/** `require("./chunk-3F2A.js")` to the script's own name. */
function neighboursByTheirNames(code) {
  return code.replace(/require\("(\.\/[\w-]+)\.js"\)/g, 'require("$1.cjs")');
}

/** The file that people name: it runs the scripts. */
async function writeEntry(path, script, exports) {
  const isCommand = exports.includes("started");
  const scripts = [
    "const scripts = new BundledScripts(import.meta.url);",
    `const { ${exports.join(", ")} } = scripts.require("./${script}");`,
  ];
  const lines = [
    `import { BundledScripts } from ${JSON.stringify(inDist("bundled-scripts.js"))};`,
    ...(isCommand ? asCommand(scripts) : [...scripts, `export { ${exports.join(", ")} };`]),
  ];
  const outfile = join(OUT, basename(path));
  await build({
    stdin: { contents: lines.join("\n"), resolveDir: dirname(path) },
    banner: firstLineOf(path).startsWith("#!") ? { js: firstLineOf(path) } : {},
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    // The oldest that can read a module, so that it can say what it needs.
    target: "node12.20",
    logLevel: "warning",
  });
  if (isCommand) chmodSync(outfile, 0o755);
}

/** Says what it needs where it cannot run (server/node-release.ts). */
function asCommand(scripts) {
  return [
    `import { refusalOf } from ${JSON.stringify(inDist("node-release.js"))};`,
    "const refusal = refusalOf(process.version);",
    "if (refusal !== undefined) {",
    "process.stderr.write(`${refusal}\\n`);",
    "process.exitCode = 1;",
    '} else if (process.argv.length === 3 && /^(?:--)?version$/.test(process.argv[2])) {',
    `new BundledScripts(import.meta.url).require("./${versionScript}").printVersion();`,
    "} else {",
    ...scripts,
    "void started.then((isReady) => isReady && scripts.keep());",
    "}",
  ];
}

function firstLineOf(path) {
  return readFileSync(path, "utf8").split("\n", 1)[0];
}

function toAscii(text) {
  return text.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
