/**
 * Definitions as they are published, and ones of their size and shape, with the real kubectl of two releases:
 * applied from the client and by the server, explained, and an object of each kind created, applied, patched,
 * watched, scaled and deleted. In the long run all of both sorts, as packages are fetched for it; otherwise small
 * ones of our own that have rules, with one kubectl.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isLong } from "../harness/is-long.js";
import { Kubectl } from "../harness/kubectl.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { findTool } from "../tools/find-tool.js";
import { type Definition, storageVersion } from "./definition.js";
import { fetchPublished } from "./published-definitions.js";
import { SHAPED_DEFINITIONS, type ShapedDefinition } from "./shaped-definitions.js";
import { smallestObject } from "./smallest-object.js";

/** What annotations may take, and so what kubectl can apply from the client. */
const ANNOTATIONS_MAX = 256 * 1024;
/** Lived in every run. */
const SMALL_BYTES_MAX = 11 * 1024;

const VERSION = "jsonpath={.metadata.resourceVersion}";

const json = (object: object) => JSON.stringify(object);

const published = isLong ? largestOfEach((await fetchPublished()) ?? []) : [];
const shaped = SHAPED_DEFINITIONS.filter(
  ({ definition, refused }) =>
    isLong || (refused !== undefined && json(definition).length < SMALL_BYTES_MAX),
);
const all: readonly ShapedDefinition[] = [
  ...shaped,
  ...published.map((definition) => ({ definition })),
];

const TOOLS = isLong ? (["kubectl", "kubectl-newest"] as const) : (["kubectl"] as const);

for (const tool of TOOLS) {
  const isThere = tool === "kubectl" || (await findTool(tool)) !== undefined;
  describe(`published definitions with ${tool}`, {
    skip: isThere ? false : `${tool} is not to be had here`,
  }, () => {
    let server: ServerProcess;
    let kubectl: Kubectl;
    before(async () => {
      server = await startServer({ flags: ["--run-controllers"] });
      kubectl = await Kubectl.open(server, tool);
    });
    after(async () => {
      await kubectl?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    });

    for (const one of all) {
      const { name } = one.definition.metadata;
      const size = Math.ceil(json(one.definition).length / 1024);
      test(`S1-SSA-21, S1-TABLE-06: ${name}, ${size} KiB`, async () => {
        await install(kubectl, one.definition);
        await live(kubectl, one.definition);
        await refuse(kubectl, one);
        await kubectl.ok(["delete", "crd", name]);
      });
    }
  });
}

/** Of the kinds of each group, the one with most to say. */
function largestOfEach(definitions: readonly Definition[]): readonly Definition[] {
  const groups = new Map<string, Definition>();
  for (const definition of definitions) {
    const { group } = definition.spec;
    const known = groups.get(group);
    if (known === undefined || json(definition).length > json(known).length)
      groups.set(group, definition);
  }
  return [...groups.values()];
}

async function install(kubectl: Kubectl, definition: Definition): Promise<void> {
  const { name } = definition.metadata;
  const text = json(definition);
  const apply = ["apply", "-f", "-"];
  if (text.length < ANNOTATIONS_MAX) {
    assert.match(await kubectl.ok(apply, text), /created/);
    // Manifests may have an empty status, which is not theirs to write: nothing changes.
    const version = () => kubectl.ok(["get", "crd", name, "-o", VERSION]);
    const first = await version();
    await kubectl.ok(apply, text);
    assert.equal(await version(), first);
  } else {
    const said = await kubectl.fails(apply, text);
    assert.match(said, /metadata\.annotations: Too long/);
  }
  await kubectl.ok([...apply, "--server-side", "--force-conflicts"], text);
  await kubectl.ok(["wait", "--for=condition=Established", `crd/${name}`, "--timeout=0s"]);
  const { kind, plural, shortNames = [], categories = [] } = definition.spec.names;
  const version = storageVersion(definition);
  const explain = ["explain", plural, `--api-version=${definition.spec.group}/${version.name}`];
  assert.match(await kubectl.ok(explain), new RegExp(`KIND: +${kind}\n`));
  const { properties = {} } = version.schema.openAPIV3Schema;
  if (properties.spec !== undefined)
    assert.match(await kubectl.ok([...explain, "--recursive"]), /^ {2}spec\t/m);
  for (const other of [...shortNames, ...categories]) await kubectl.ok(["get", other]);
}

async function live(kubectl: Kubectl, definition: Definition): Promise<void> {
  const { name } = definition.metadata;
  const apply = ["apply", "-f", "-", "--server-side", "--field-manager=me"];
  await using watch = kubectl.start(["get", name, "-w", "--output-watch-events"]);
  await kubectl.ok(["create", "-f", "-"], json(smallestObject(definition, "first")));
  await watch.waitFor(/^ADDED +first /m);
  const labelled = smallestObject(definition, "first", { color: "red" });
  await kubectl.ok(apply, json(labelled));
  const labels = json({ metadata: { labels: { color: "blue" } } });
  await kubectl.ok(["patch", name, "first", "--type=merge", "-p", labels]);
  await watch.waitFor(/^MODIFIED +first /m);
  const conflict = await kubectl.fails(apply, json(labelled));
  assert.match(conflict, /conflict with "kubectl-patch".*\.metadata\.labels\.color/s);
  assert.match(await kubectl.ok(["get", name, "-l", "color=blue"]), /^NAME .*\nfirst /s);
  const { scale } = storageVersion(definition).subresources ?? {};
  if (scale !== undefined) {
    await kubectl.ok(["scale", `${name}/first`, "--replicas=3"]);
    const at = `jsonpath={${(scale as { readonly specReplicasPath: string }).specReplicasPath}}`;
    assert.equal(await kubectl.ok(["get", name, "first", "-o", at]), "3");
  }
  await kubectl.ok(["delete", name, "first"]);
  await watch.waitFor(/^DELETED +first /m);
}

/** What the rules of the definition say no to. */
async function refuse(kubectl: Kubectl, { definition, refused = [] }: ShapedDefinition) {
  const { name } = definition.metadata;
  if (refused.length === 0) return;
  await kubectl.ok(["create", "-f", "-"], json(smallestObject(definition, "second")));
  for (const [change, said] of refused) {
    const patch = ["patch", name, "second", "--type=merge", "-p", json(change)];
    const problem = await kubectl.fails(patch);
    assert.ok(problem.includes(said), problem);
  }
}
