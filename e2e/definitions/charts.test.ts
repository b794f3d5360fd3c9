/**
 * Definitions as Helm brings them, in `crds/` of a chart, with an object of each kind: installed,
 * upgraded, uninstalled, by both Helms. Helm leaves definitions where they are and changes none of them.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type ControlPlanePlace, openControlPlane } from "../harness/control-plane.js";
import { eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { HELMS, missingHelm, runHelm } from "../helm/chart.js";
import { collectionOf, type Definition } from "./definition.js";
import { fetchPublished, OWN_DEFINITIONS } from "./published-definitions.js";
import { SHAPED_DEFINITIONS } from "./shaped-definitions.js";
import { smallestObject } from "./smallest-object.js";

const CONTROL_PLANES = "controlplanes.tenancy.k8s.io";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const published = isLong ? await fetchPublished() : undefined;
const shaped = isLong ? SHAPED_DEFINITIONS.map(({ definition }) => definition) : [];
const missing = await Promise.all(HELMS.map(missingHelm));

describe("charts with definitions", () => {
  let root: ServerProcess;
  let plane: ControlPlanePlace;
  before(async () => {
    root = await startServer({ flags: ["--run-controllers", "--enable-control-planes"] });
    plane = await openControlPlane(root, "shop");
  });
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
    await root?.[Symbol.asyncDispose]();
  });

  const runs = HELMS.flatMap((helm, index) =>
    ["the root", "a control plane"].map((place) => ({ helm, index, place })),
  );
  for (const { helm, index, place } of runs) {
    test(`${helm} installs, upgrades and uninstalls a chart with crds/ in ${place}`, {
      skip: missing[index] ?? false,
    }, async () => {
      const server = place === "the root" ? root : plane;
      const definitions = [...OWN_DEFINITIONS, ...shaped, ...(published ?? [])];
      await using chart = await writeChart(definitions);
      const env = {
        KUBECONFIG: server.kubeconfig,
        HELM_CACHE_HOME: chart.path,
        HELM_CONFIG_HOME: chart.path,
        HELM_DATA_HOME: chart.path,
      };
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await runHelm(helm, [...args, "-n", "default"], env);
        assert.equal(code, 0, `${helm} ${args.join(" ")}: ${stdout}${stderr}`);
      };
      // Published kinds have a status from the start that says that no controller has come yet.
      await run("install", "kinds", chart.path, ...(isLong ? [] : ["--wait"]));
      assert.deepEqual(
        await notes(server, definitions),
        definitions.map(() => ["one"]),
      );
      const before = await generations(server, definitions);
      await run("upgrade", "kinds", chart.path, "--set", "note=two");
      assert.deepEqual(
        await notes(server, definitions),
        definitions.map(() => ["two"]),
      );
      assert.deepEqual(await generations(server, definitions), before);
      await run("uninstall", "kinds");
      assert.deepEqual(
        await notes(server, definitions),
        definitions.map(() => []),
      );
      for (const { metadata } of definitions) {
        (await server.client.delete(`${DEFINITIONS}/${metadata.name}`)).expect(200);
      }
      await eventually("the definitions are gone", async () => {
        const left = (await server.client.get(DEFINITIONS)).expect(200).items;
        // Of the server's own is the kind of control planes.
        return left.every(({ metadata }) => metadata.name === CONTROL_PLANES);
      });
    });
  }
});

type Place = Pick<ServerProcess, "client">;

async function writeChart(definitions: readonly Definition[]) {
  const folder = await makeTempDir("chart");
  for (const name of ["crds", "templates"]) await mkdir(join(folder.path, name));
  const write = (name: string, text: string) => writeFile(join(folder.path, name), text);
  await write("Chart.yaml", "apiVersion: v2\nname: kinds\nversion: 1.0.0\n");
  await write("values.yaml", "note: one\n");
  for (const definition of definitions) {
    const { name } = definition.metadata;
    await write(`crds/${name}.yaml`, JSON.stringify(definition));
    const object = smallestObject(definition, "first", { note: "{{ .Values.note }}" });
    await write(`templates/${name}.yaml`, JSON.stringify(object));
  }
  return folder;
}

/** The notes of the objects of each kind. */
async function notes(server: Place, definitions: readonly Definition[]) {
  return await Promise.all(
    definitions.map(async (definition) => {
      const { items } = (await server.client.get(collectionOf(definition))).expect(200);
      return items.map(({ metadata }) => metadata.labels?.note);
    }),
  );
}

async function generations(server: Place, definitions: readonly Definition[]) {
  return await Promise.all(
    definitions.map(async ({ metadata }) => {
      const { object } = (await server.client.get(`${DEFINITIONS}/${metadata.name}`)).expect(200);
      return object.metadata.generation;
    }),
  );
}
