/**
 * Definitions and objects as they are published: those of Camel K, out of a package of the npm registry that
 * carries them for several releases (schemas of 30 to 410 KiB, 248 Kamelets). Each release replaces the
 * definitions of the one before it, under the objects that are there.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { unpackPackage } from "../definitions/unpack-package.js";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import type { Tally } from "./campaigns.js";
import { compare } from "./compare.js";
import type { Peers } from "./peers.js";
import { waitUntilServed } from "./scenarios.js";

const PACKAGE = "@kaoto/camel-catalog";
const GROUP = "camel.apache.org";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const KINDS = {
  integration: { kind: "Integration", version: "v1" },
  kamelet: { kind: "Kamelet", version: "v1" },
  pipe: { kind: "Pipe", version: "v1" },
  kameletbinding: { kind: "KameletBinding", version: "v1alpha1" },
} as const;
const KAMELETS = `/apis/${GROUP}/v1/namespaces/default/kamelets`;

/** @param folder where the package is unpacked */
export async function playPublished(peers: Peers, folder: string): Promise<Tally> {
  const catalog = join(await unpackPackage(PACKAGE, folder), "dist/camel-catalog/camel-main");
  const tally: Tally = { asked: 0, accepted: 0, differences: [] };
  const ask = async (method: string, path: string, body?: unknown, type = "application/json") => {
    const headers = { "content-type": type };
    const options = body === undefined ? { method } : { method, headers, body };
    const { status, difference } = await compare(peers, path, options);
    tally.asked += 1;
    if (status < 300) tally.accepted += 1;
    if (difference !== undefined) tally.differences.push({ ...difference, sent: body });
    return status;
  };
  for (const release of (await readdir(catalog)).sort()) {
    const files = await readdir(join(catalog, release));
    const read = async (start: string) => {
      const name = files.find((file) => file.startsWith(start)) ?? "";
      return JSON.parse(await readFile(join(catalog, release, name), "utf8")) as object;
    };
    for (const [name, { kind, version }] of Object.entries(KINDS)) {
      const definition = publishedOf(`${name}s`, kind, version, await read(`crd-schema-${name}-`));
      const path = `${DEFINITIONS}/${definition.metadata.name}`;
      if ((await ask("PUT", path, definition)) === 404) await ask("POST", DEFINITIONS, definition);
      await waitUntilServed(peers, `/apis/${GROUP}/${version}/${name}s?served=wait`);
    }
    const kamelets = Object.values(await read("kamelets-aggregate-")) as Kamelet[];
    for (const { propertiesSchema: _added, ...kamelet } of kamelets) {
      const one = `${KAMELETS}/${kamelet.metadata.name}`;
      const strict = "fieldManager=published&force=true&fieldValidation=Strict";
      await ask("PATCH", `${one}?${strict}`, kamelet, "application/apply-patch+yaml");
      const title = { spec: { definition: { title: release } } };
      await ask("PATCH", one, title, "application/merge-patch+json");
      await ask("GET", one);
    }
  }
  await ask("GET", KAMELETS);
  return tally;
}

interface Kamelet {
  readonly metadata: { readonly name: string };
  /** What the catalog has added. */
  readonly propertiesSchema?: object;
}

function publishedOf(plural: string, kind: string, version: string, schema: object) {
  const versions = [versionOf(schema, { name: version, subresources: { status: {} } })];
  return definitionOf(`${plural}.${GROUP}`, kind, { versions });
}
