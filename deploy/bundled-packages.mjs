/**
 * The packages whose code is in the bundle: what npm need not install, so what a bill of materials and their licences
 * would not be known by otherwise. Both come from what esbuild says that it took (decision 99).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LICENCE = /^(licen[sc]e|copying|notice)([-.].*)?$/i;
const RULE = `\n${"-".repeat(80)}\n\n`;

/**
 * @param {import("esbuild").Metafile[]} metafiles of builds that ran in `root`
 * @returns {{ path: string, name: string, version: string, license: string }[]} those of which bytes are in an output, by path
 */
export function bundledPackages(root, metafiles) {
  const inputs = metafiles.flatMap(({ outputs }) => Object.values(outputs).flatMap((output) => Object.entries(output.inputs)));
  const paths = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => packageOf(path));
  return [...new Set(paths)]
    .filter((path) => path !== undefined)
    .sort()
    .map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      return { path, name, version, license };
    });
}

/** "node_modules/a/node_modules/@b/c" of a path below it; plugins put their name before it. */
function packageOf(path) {
  return /(?:^|[:/])(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
}

/** The licences of these packages, as each of them asks for: a text that several have is there once. */
export function licencesOf(root, packages) {
  const sharers = new Map();
  for (const { path, name, version, license } of packages) {
    const files = readdirSync(join(root, path)).filter((file) => LICENCE.test(file));
    const text = files.map((file) => readFileSync(join(root, path, file), "utf8").trim()).join("\n\n");
    sharers.set(text, [...(sharers.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...sharers].map(([text, names]) => `${[...new Set(names)].join("\n")}\n\n${text}`);
  return `Keelson contains code of these packages.\n${RULE}${parts.join(`\n${RULE}`)}\n`;
}
