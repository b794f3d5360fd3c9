/**
 * The second half of `npm run build`: copies the facts beside the emitted modules, and makes two
 * files of a thousand, `dist/bundle/main.js` (the command) and `dist/bundle/start-keelson.js` (the
 * package), with the parts that only some starts need in files of their own. Finding, reading and
 * linking a thousand modules takes a second of CPU at every start; docs/performance.md has figures.
 *
 * The emitted modules in `dist/server` stay what tests and tools import.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const DIST = join(ROOT, "dist");
const OUT = join(DIST, "bundle");
const ENTRIES = ["main.js", "start-keelson.js"].map((name) => join(DIST, "server", name));

/** Packages that have native code, or read files of their own. */
const EXTERNAL = ["lmdb", "cbor-extract", "bufferutil", "utf-8-validate", "etcd3", "@grpc/*"];

/** Modules that read files beside them go on reading them there. Entries stay beside each other. */
const filesStayWhereTheyAre = {
  name: "files-stay-where-they-are",
  setup({ onLoad }) {
    onLoad({ filter: /\/dist\/(server|storage)\/.*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (ENTRIES.includes(path) || !text.includes("import.meta.url")) return undefined;
      const place = relative(OUT, path).split(sep).join("/");
      const url = `new URL(${JSON.stringify(place)}, import.meta.url).href`;
      return { contents: text.replaceAll("import.meta.url", url), loader: "js" };
    });
  },
};

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
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/undici\/index\.js$/ }, () => ({ contents: UNDICI }));
    onLoad({ filter: /\/node_modules\/mime-db\/db\.json$/ }, ({ path }) => {
      const all = Object.entries(JSON.parse(readFileSync(path, "utf8")));
      const kept = all.filter(([type]) => MEDIA_TYPES.includes(type));
      return { contents: JSON.stringify(Object.fromEntries(kept)), loader: "json" };
    });
  },
};

cpSync(join(ROOT, "server/types/facts"), join(DIST, "server/types/facts"), { recursive: true });
rmSync(OUT, { recursive: true, force: true });
await build({
  entryPoints: ENTRIES,
  outdir: OUT,
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node20",
  external: EXTERNAL,
  plugins: [filesStayWhereTheyAre, partsOfPackages],
  // Names and short lines stay, so that stacks and profiles can be read.
  minifyWhitespace: true,
  lineLimit: 200,
  // CommonJS packages ask for Node's own modules by `require`.
  banner: {
    js: 'import { createRequire as createBundleRequire } from "node:module";\nconst require = createBundleRequire(import.meta.url);',
  },
  sourcemap: true,
  sourcesContent: false,
  legalComments: "linked",
  logLevel: "warning",
});

/** V8 keeps the text of a module, in two bytes a character as soon as one of them, in a comment, needs two. */
function toAscii(text) {
  return text.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

for (const name of readdirSync(OUT).filter((file) => file.endsWith(".js"))) {
  const path = join(OUT, name);
  const text = readFileSync(path, "utf8");
  const ascii = toAscii(text);
  if (ascii !== text) writeFileSync(path, ascii);
}
