/** Unusable authorities, by certificates of all kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestAuthority } from "../../e2e/harness/test-authority.js";
import { type LogFields, silentLogger } from "../../storage/base/logger.js";
import { problemsOfAuthorities, type Vouched, warnOfAuthorities } from "./authorities.js";

const HOUR_MS = 3_600_000;
const now = Date.now();

const problems = (vouchFor: Vouched, ...pems: readonly string[]) =>
  problemsOfAuthorities({ vouchFor, bundle: pems.join("# comment\n") }, now);

/** The first certificate of a file with several. */
const firstOf = (pem: string) => `${pem.split("-----END")[0]}-----END CERTIFICATE-----\n`;

test("A2: roots of all versions and intermediates are good for all", async () => {
  const root = await TestAuthority.create("root");
  const old = await TestAuthority.create("old", { version: 1 });
  const middle = await root.createIntermediate("middle");
  for (const use of ["clients", "servers"] as const) {
    assert.deepEqual(problems(use, root.certificate, old.certificate), []);
    assert.deepEqual(problems(use, middle.certificate, root.certificate), []);
  }
  assert.deepEqual(problems("clients", middle.certificate), []);
  assert.deepEqual(problems("servers", middle.certificate), []);
});

test("what is no authority, not valid now, or for something else is told with its place and name", async () => {
  const root = await TestAuthority.create("root");
  const leaf = firstOf((await root.issue({ commonName: "jane", organizations: ["dev"] })).cert);
  const period = { notBefore: new Date(now - 2 * HOUR_MS), notAfter: new Date(now - HOUR_MS) };
  const over = await TestAuthority.create("over", { period });
  const early = await TestAuthority.create("early", {
    period: { notBefore: new Date(now + HOUR_MS), notAfter: new Date(now + 2 * HOUR_MS) },
  });
  const found = problems("clients", root.certificate, leaf, over.certificate, early.certificate);
  assert.equal(found.length, 3);
  assert.match(
    String(found[0]),
    /^certificate 2 \(O=dev, CN=jane\) is not an authority: its basic constraints do not say CA:TRUE$/,
  );
  assert.match(String(found[1]), /^certificate 3 \(CN=over\) has not been valid since /);
  assert.match(String(found[2]), /^certificate 4 \(CN=early\) is not valid before /);
  const garbled = root.certificate.replace(/[A-Za-z0-9+/]{20}/, "A".repeat(20));
  assert.deepEqual(problems("servers", garbled), ["certificate 1 cannot be read"]);
  assert.deepEqual(problems("servers", "nothing"), ["there is no PEM certificate"]);
});

test("the usages of an authority limit whom it vouches for", async () => {
  const forServers = await TestAuthority.create("servers", { usage: "server" });
  const noSigner = await TestAuthority.create("no signer", { signs: false });
  assert.deepEqual(problems("servers", forServers.certificate), []);
  assert.deepEqual(problems("clients", forServers.certificate, noSigner.certificate), [
    "certificate 1 (CN=servers) may not vouch for clients: its extended key usage leaves them out",
    "certificate 2 (CN=no signer) may not sign certificates: its key usage leaves that out",
  ]);
});

test("a bundle is one line in the log, however long it is, and none when it is good", async () => {
  const logged: LogFields[] = [];
  const logger = { ...silentLogger, warn: (fields: LogFields) => logged.push(fields) };
  const root = await TestAuthority.create("root");
  const leaf = firstOf((await root.issue({ commonName: "a" })).cert);
  const given = { source: "--client-ca-file", file: "/ca.pem", vouchFor: "clients" } as const;
  warnOfAuthorities(logger, { ...given, bundle: root.certificate }, now);
  assert.equal(logged.length, 0);
  warnOfAuthorities(logger, { ...given, bundle: leaf.repeat(8) }, now);
  assert.equal(logged.length, 1);
  const { source, file, problems: shown } = logged.at(0) ?? {};
  assert.deepEqual([source, file], ["--client-ca-file", "/ca.pem"]);
  assert.equal((shown as string[]).length, 6);
  assert.equal((shown as string[]).at(-1), "and 3 more");
});
