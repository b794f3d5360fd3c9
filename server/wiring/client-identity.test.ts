/** Files of outgoing calls that are replaced while a replica runs. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { fileReader, identityReader } from "./client-identity.js";

const LATER_MS = 5_000;

test("P10: a new pair for outgoing calls is used when both of its files are there, and authorities are", async () => {
  await using folder = await makeTempDir("identity");
  const at = (name: string) => join(folder.path, name);
  const authority = await TestAuthority.create("proxies");
  const [old, next] = [
    await authority.issue({ commonName: "old" }),
    await authority.issue({ commonName: "next" }),
  ];
  let nowMs = 0;
  const now = () => nowMs;
  const write = async (name: string, text: string) => {
    await writeFile(at(name), text);
    nowMs += LATER_MS;
  };
  await write("cert", old.cert);
  await write("key", old.key);
  await write("ca", authority.certificate);
  const identity = identityReader(at("cert"), at("key"), now);
  const authorities = fileReader(at("ca"), now);
  assert.deepEqual(identity(), { certificate: old.cert, key: old.key });
  assert.equal(authorities(), authority.certificate);
  await write("cert", next.cert);
  assert.deepEqual(identity(), { certificate: old.cert, key: old.key });
  await write("key", next.key);
  assert.deepEqual(identity(), { certificate: next.cert, key: next.key });
  await rm(at("ca"));
  nowMs += LATER_MS;
  assert.equal(authorities(), authority.certificate);
  await write("ca", "another");
  assert.equal(authorities(), "another");
  assert.deepEqual(identityReader("", "")(), identityReader("", "")());
});
