/**
 * Definitions as they are published: those of Forklift, manifests that the npm package crdtoapi carries,
 * those of Camel K, whose schemas @kaoto/camel-catalog carries, and those of nine more projects
 * (model-packages.ts). And a small one of our own, for where nothing is to be fetched.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { JsonSchema } from "../../server/structural/json-schema.js";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import { widgetDefinition } from "../fixtures/widgets.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Definition } from "./definition.js";
import { readModelPackages } from "./model-packages.js";
import { unpackPackage } from "./unpack-package.js";

export const OWN_DEFINITIONS = [widgetDefinition() as Definition];

const CAMEL_KINDS = {
  integration: { kind: "Integration", version: "v1" },
  kamelet: { kind: "Kamelet", version: "v1" },
  pipe: { kind: "Pipe", version: "v1" },
} as const;

/** Undefined: this machine's npm cannot get the packages. */
export async function fetchPublished(): Promise<readonly Definition[] | undefined> {
  await using forklift = await makeTempDir("forklift");
  await using camel = await makeTempDir("camel");
  await using models = await makeTempDir("models");
  try {
    return [
      ...(await readForklift(forklift.path)),
      ...(await readCamel(camel.path)),
      ...(await readModelPackages(models.path)),
    ];
  } catch (error) {
    process.stderr.write(`definitions are not to be had by npm pack: ${String(error)}\n`);
    return undefined;
  }
}

async function readForklift(folder: string): Promise<Definition[]> {
  const examples = join(await unpackPackage("crdtoapi", folder), "examples/forklift");
  const files = (await readdir(examples)).filter((name) => name.endsWith(".yaml")).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(examples, name), "utf8")));
  const documents = texts.flatMap((text) => parseAllDocuments(text));
  return documents
    .map((document) => document.toJS() as Definition | null)
    .filter((one) => one?.kind === "CustomResourceDefinition")
    .map((one) => one as Definition);
}

/** Of the newest release that it has. */
async function readCamel(folder: string): Promise<Definition[]> {
  const root = await unpackPackage("@kaoto/camel-catalog", folder);
  const catalog = join(root, "dist/camel-catalog/camel-main");
  const release = (await readdir(catalog)).sort().at(-1) ?? "";
  const files = await readdir(join(catalog, release));
  const definitions = Object.entries(CAMEL_KINDS).map(async ([singular, { kind, version }]) => {
    const file = files.find((name) => name.startsWith(`crd-schema-${singular}-`)) ?? "";
    const schema = JSON.parse(await readFile(join(catalog, release, file), "utf8")) as JsonSchema;
    return camelDefinition(`${singular}s`, kind, version, schema);
  });
  return await Promise.all(definitions);
}

function camelDefinition(
  plural: string,
  kind: string,
  version: string,
  openAPIV3Schema: JsonSchema,
): Definition {
  const group = "camel.apache.org";
  const versions = [versionOf(openAPIV3Schema, { name: version })];
  return definitionOf(`${plural}.${group}`, kind, { versions }) as Definition;
}
