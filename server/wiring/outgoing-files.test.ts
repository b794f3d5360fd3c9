/** Files of outgoing calls that are replaced while a replica runs. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../e2e/harness/eventually.js";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import { silentLogger } from "../../storage/base/logger.js";
import { NO_IDENTITY } from "../outbound/tls-connections.js";
import { openOutgoingFiles } from "./outgoing-files.js";

const NONE = {
  proxyClientCertFile: "",
  proxyClientKeyFile: "",
  kubeletClientCertificate: "",
  kubeletClientKey: "",
  kubeletCertificateAuthority: "",
};

test("P10: a new pair for outgoing calls is used when both of its files are there, and authorities are; what fails is counted", async () => {
  await using folder = await makeTempDir("identity");
  const at = (name: string) => join(folder.path, name);
  const authority = await TestAuthority.create("proxies");
  const other = await TestAuthority.create("others");
  const [old, next] = [
    await authority.issue({ commonName: "old" }),
    await authority.issue({ commonName: "next" }),
  ];
  await writeFile(at("cert"), old.cert);
  await writeFile(at("key"), old.key);
  await writeFile(at("ca"), authority.certificate);
  const files = openOutgoingFiles({
    proxyClientCertFile: at("cert"),
    proxyClientKeyFile: at("key"),
    kubeletClientCertificate: at("cert"),
    kubeletClientKey: at("key"),
    kubeletCertificateAuthority: at("ca"),
  });
  assert.deepEqual(files.proxyIdentity(), { certificate: old.cert, key: old.key });
  // After they were read, and before they are looked at again.
  await writeFile(at("cert"), next.cert);
  await writeFile(at("ca"), other.certificate);
  await using lifecycle = new Lifecycle(silentLogger);
  const reloads: boolean[] = [];
  files.spawn(lifecycle, { logger: silentLogger, onReload: (isGood) => reloads.push(isGood) });
  await eventually("authorities are new, both pairs are counted as failures", () => {
    assert.equal(files.kubeletAuthorities(), other.certificate);
    assert.deepEqual([...reloads].sort(), [false, false, true]);
    return true;
  });
  assert.deepEqual(files.kubeletIdentity(), { certificate: old.cert, key: old.key });
  await rm(at("ca"));
  await writeFile(at("key"), next.key);
  await eventually("the pairs are new, the authorities are counted as a failure", () => {
    assert.deepEqual(files.proxyIdentity(), { certificate: next.cert, key: next.key });
    assert.deepEqual(files.kubeletIdentity(), { certificate: next.cert, key: next.key });
    assert.equal(reloads.length, 6);
    return true;
  });
  assert.equal(files.kubeletAuthorities(), other.certificate);
});

test("P10: without files there is no identity; a key of another certificate is refused at the start", async () => {
  await using folder = await makeTempDir("identity");
  const at = (name: string) => join(folder.path, name);
  const none = openOutgoingFiles(NONE);
  assert.deepEqual(
    [none.proxyIdentity(), none.kubeletIdentity(), none.kubeletAuthorities()],
    [NO_IDENTITY, NO_IDENTITY, ""],
  );
  const authority = await TestAuthority.create("proxies");
  await writeFile(at("cert"), (await authority.issue({ commonName: "a" })).cert);
  await writeFile(at("key"), (await authority.issue({ commonName: "b" })).key);
  const files = { proxyClientCertFile: at("cert"), proxyClientKeyFile: at("key") };
  assert.throws(
    () => openOutgoingFiles({ ...NONE, ...files }),
    /^Error: --proxy-client-cert-file /,
  );
});
