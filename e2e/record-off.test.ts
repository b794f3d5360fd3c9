/** What the recorder costs where nobody asked for it: no function of it runs, whatever clients do. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { repositoryRoot } from "./tools/find-tool.js";

/** As it is compiled file by file, so that coverage says what is whose. */
const MAIN = join(repositoryRoot(), "dist/server/main.js");
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The functions of the recorder that a server ran, by V8's coverage of its whole life. */
async function recorderRan(flags: readonly string[]): Promise<readonly string[]> {
  await using folder = await makeTempDir("record-off");
  {
    process.env.NODE_V8_COVERAGE = folder.path;
    await using server = await startServer({ flags, main: MAIN }).finally(() => {
      delete process.env.NODE_V8_COVERAGE;
    });
    const { client } = server;
    const watch = await client.watch(`${CONFIG_MAPS}?watch=1`);
    const body = { metadata: { name: "it" }, data: { a: "1" } };
    (await client.post(CONFIG_MAPS, body)).expect(201);
    await watch.next();
    (await client.post(CONFIG_MAPS, body)).expect(409);
    (await client.put(`${CONFIG_MAPS}/it`, { ...body, data: { a: "2" } })).expect(200);
    (await client.put(`${CONFIG_MAPS}/it`, { ...body, data: { a: 3 } })).expect(400);
    (await client.get(CONFIG_MAPS)).expect(200);
    (await client.delete(`${CONFIG_MAPS}/it`)).expect(200);
    await watch.return?.(undefined);
    // What is killed writes no coverage.
    await server.stop();
  }
  const files = await readdir(folder.path);
  const all = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder.path, file), "utf8"))),
  );
  return (all as Coverage[]).flatMap(({ result }) =>
    result
      .filter(({ url }) => url.includes("/server/recorder/"))
      .flatMap(({ functions }) =>
        functions
          // A file itself has no name.
          .filter(({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0)
          .map(({ functionName }) => functionName),
      ),
  );
}

test("#46 without --record no function of the recorder runs; with it they do", async () => {
  assert.deepEqual(await recorderRan([]), []);
  assert.ok((await recorderRan(["--record=memory"])).length > 10);
});
