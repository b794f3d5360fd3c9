/** Files of a running server, replaced together as a kubelet does: by a symbolic link that goes elsewhere. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";

type Contents = Readonly<Record<string, string>>;

/** By the flag that names it. */
async function contentsOf(which: "one" | "two"): Promise<Contents> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.export({ type: "sec1", format: "pem" }).toString();
  const cluster = `{name: a, cluster: {server: "https://127.0.0.1:1/${which}"}}`;
  const context = "{name: a, context: {cluster: a, user: a}}";
  const webhook = `{apiVersion: v1, kind: Config, clusters: [${cluster}], users: [{name: a}], contexts: [${context}], current-context: a}`;
  const level = which === "one" ? "None" : "Metadata";
  return {
    "requestheader-client-ca-file": (await TestAuthority.create(which)).certificate,
    "service-account-signing-key-file": key,
    "audit-policy-file": `{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: ${level}}]}`,
    "audit-webhook-config-file": webhook,
    "authentication-token-webhook-config-file": webhook,
  };
}

test("P10: files that cannot be used are counted once each, and the next good ones are in force", async () => {
  await using folder = await makeTempDir("file-reloads");
  const link = join(folder.path, "..data");
  let versions = 0;
  const put = async (contents: Contents) => {
    versions += 1;
    const version = `version-${versions}`;
    await mkdir(join(folder.path, version));
    for (const [name, text] of Object.entries(contents)) {
      await writeFile(join(folder.path, version, name), text);
    }
    await symlink(version, `${link}-next`);
    await rename(`${link}-next`, link);
  };
  const [one, two] = [await contentsOf("one"), await contentsOf("two")];
  await put(one);
  const names = Object.keys(one);
  await using server = await startServer({
    flags: names.map((name) => `--${name}=${join(link, name)}`),
  });
  const reloads = async () => {
    const { text } = (await server.client.get("/metrics")).expect(200);
    const counts = text.matchAll(/^apiserver_certificate_reloads_total\{result="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...counts].map(([, result, count]) => [result, Number(count)]));
  };
  const signers = async () => (await server.client.get("/openid/v1/jwks")).expect(200).text;
  const before = await signers();

  const failsAs: readonly ((text: string) => string)[] = [
    () => "",
    // Half of a file.
    (text) => text.slice(0, text.length / 2),
    () => "\0[{:",
  ];
  for (const [index, broken] of failsAs.entries()) {
    await put(Object.fromEntries(names.map((name) => [name, broken(one[name] ?? "")])));
    const failure = names.length * (index + 1);
    await eventually("all failures are counted", async () => {
      assert.deepEqual(await reloads(), { success: 0, failure });
      return true;
    });
    assert.equal(await signers(), before);
  }
  await put(two);
  await eventually("all of the new ones are in force", async () => {
    assert.deepEqual(await reloads(), {
      success: names.length,
      failure: names.length * failsAs.length,
    });
    return true;
  });
  assert.notEqual(await signers(), before);
});
