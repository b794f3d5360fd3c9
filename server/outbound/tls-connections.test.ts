/** Whom outgoing connections believe, over real ones; storage/x509 has the rules themselves. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { TestAuthority, type TestIdentity } from "../../e2e/harness/test-authority.js";
import {
  boolean,
  certificate,
  der,
  extension,
  identifier,
  name,
  sequence,
  text,
  toPem,
} from "../../storage/x509/testing/der-writer.js";
import { HttpsClient, TransportError } from "../client/https-client.js";
import { ConnectionPools } from "./connection-pools.js";
import { TlsSettings } from "./tls-connections.js";

const NO_CREDENTIALS = { current: async () => ({}), rejected: () => {} };

/** The answer's text, or why there is none; and how many requests the server has seen. */
async function ask(identity: TestIdentity, ca: string | undefined, isInsecure = false) {
  let seen = 0;
  const server = createServer(identity, (_request, response) => {
    seen++;
    response.end("hello");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const client = new HttpsClient({
    endpoint: {
      server: `https://127.0.0.1:${port}`,
      serverName: "web.example",
      isInsecure,
      ca,
    },
    credentials: NO_CREDENTIALS,
    timeoutMs: 5_000,
  });
  try {
    const { body } = await client.request({ method: "GET", path: "/" }, soon());
    return { text: body.toString(), seen };
  } catch (error) {
    assert.ok(error instanceof TransportError);
    return { text: error.message, seen };
  } finally {
    client.close();
    server.close();
  }
}

const first = (pem: string) => `${pem.split("-----END")[0]}-----END CERTIFICATE-----\n`;
const HOSTS = { hosts: ["web.example"], usage: "server" } as const;

test("A2: a bundle with the leaf itself, or an intermediate alone, is believed", async () => {
  const root = await TestAuthority.create("root");
  const middle = await root.createIntermediate("middle");
  const leaf = await middle.issue({ commonName: "web", ...HOSTS });
  for (const ca of [first(leaf.cert), middle.certificate, root.certificate]) {
    assert.deepEqual(await ask(leaf, ca), { text: "hello", seen: 1 });
  }
});

test("A2: leaf and authority may have the same name, or none, and another of that name may come first", async () => {
  for (const name of ["same", ""]) {
    const [other, authority] = [await TestAuthority.create(name), await TestAuthority.create(name)];
    const leaf = await authority.issue({ commonName: name, ...HOSTS });
    const bundle = other.certificate + authority.certificate;
    assert.deepEqual(await ask(leaf, bundle), { text: "hello", seen: 1 });
  }
});

test("A3: a common name alone is refused in Go's words, before a request is written", async () => {
  const root = await TestAuthority.create("root");
  const leaf = await root.issue({ commonName: "web.example", usage: "server" });
  const words = "x509: certificate relies on legacy Common Name field, use SANs instead";
  assert.deepEqual(await ask(leaf, root.certificate), {
    text: `connection failed: ${words}`,
    seen: 0,
  });
});

test("A2: strangers, certificates of clients and the machine's strangers are refused; nobody is when asked to", async () => {
  const [root, other] = [await TestAuthority.create("root"), await TestAuthority.create("root")];
  const leaf = await root.issue({ commonName: "web", ...HOSTS });
  const client = await root.issue({ commonName: "web", hosts: HOSTS.hosts, usage: "client" });
  const [stranger, usage, unknown, anybody] = [
    await ask(leaf, other.certificate),
    await ask(client, root.certificate),
    await ask(leaf, undefined),
    await ask(leaf, undefined, true),
  ];
  assert.match(stranger.text, /^connection failed: x509: certificate signed by unknown authority/);
  assert.match(usage.text, /x509: certificate specifies an incompatible key usage$/);
  assert.match(unknown.text, /x509: certificate signed by unknown authority$/);
  assert.deepEqual([stranger.seen, usage.seen, unknown.seen], [0, 0, 0]);
  assert.deepEqual(anybody, { text: "hello", seen: 1 });
});

const COMMON_NAME = "2.5.4.3";
const DNS = 0x82;
const bits = (unused: number, byte: number) => der(0x03, Buffer.from([unused, byte]));
const isAuthority = (isCritical: boolean) =>
  extension("2.5.29.19", sequence(boolean(true)), isCritical);
const keyUsage = (unused: number, byte: number, isCritical: boolean) =>
  extension("2.5.29.15", bits(unused, byte), isCritical);
const domain = (host: string) => extension("2.5.29.17", sequence(text(DNS, host)));

/** An authority and a certificate of web.example with these names and extensions, RSA as those tools make them. */
function pairOf(
  [issuer, subject]: readonly [Buffer, Buffer],
  [ofAuthority, ofLeaf]: readonly [readonly Buffer[], readonly Buffer[]],
): { readonly leaf: TestIdentity; readonly ca: string } {
  const [authority, own] = [1, 2].map(() => generateKeyPairSync("rsa", { modulusLength: 2048 }));
  assert.ok(authority !== undefined && own !== undefined);
  const now = Date.now();
  const common = {
    version: 3,
    serial: 1,
    notBefore: new Date(now - 60_000),
    notAfter: new Date(now + 600_000),
    issuer,
    signer: authority.privateKey,
  } as const;
  const make = (key: typeof authority.publicKey, subject: Buffer, extensions: readonly Buffer[]) =>
    toPem(certificate({ ...common, subject, key, extensions }));
  const cert = make(own.publicKey, subject, ofLeaf);
  const key = own.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { leaf: { cert, key }, ca: make(authority.publicKey, issuer, ofAuthority) };
}

test("A2: certificates as pepr makes them for itself are believed: one serial number, no key identifiers, no purposes", async () => {
  const printable = (value: string) => name([[COMMON_NAME, 0x13, value]]);
  const { leaf, ca } = pairOf(
    [printable("Ephemeral CA"), printable("web.example")],
    [[isAuthority(false), keyUsage(2, 0xf4, false)], [domain("web.example")]],
  );
  assert.deepEqual(await ask(leaf, ca), { text: "hello", seen: 1 });
  assert.deepEqual(await ask(leaf, leaf.cert), { text: "hello", seen: 1 });
});

test("A2: certificates as controller-runtime's test environment makes them are believed, in every form of bundle", async () => {
  const named = (value: string) =>
    name([
      ["2.5.4.10", 0x13, "envtest"],
      [COMMON_NAME, 0x13, value],
    ]);
  const keyId = Buffer.alloc(20, 7);
  const { leaf, ca } = pairOf(
    [named("envtest-environment"), named("localhost")],
    [
      [
        keyUsage(2, 0xa4, true),
        isAuthority(true),
        extension("2.5.29.14", der(0x04, keyId)),
        domain("envtest-environment"),
      ],
      [
        keyUsage(5, 0xa0, true),
        extension("2.5.29.37", sequence(identifier("1.3.6.1.5.5.7.3.1"))),
        extension("2.5.29.35", sequence(der(0x80, keyId))),
        domain("web.example"),
      ],
    ],
  );
  const other = await TestAuthority.create("other");
  const bundles = {
    alone: ca,
    "with remarks": `subject=envtest\n${ca}# the end`,
    "with CR LF": ca.replaceAll("\n", "\r\n"),
    "behind another": other.certificate + ca,
    "before another": ca + other.certificate,
    twice: ca + ca,
    "with a key": leaf.key + ca,
  };
  for (const [label, bundle] of Object.entries(bundles)) {
    assert.deepEqual(await ask(leaf, bundle), { text: "hello", seen: 1 }, label);
  }
  const { seen } = await ask(leaf, other.certificate);
  assert.equal(seen, 0, "another alone");
});

test("A2: the name that a connection asks for is the one that is verified, whatever a request says", async () => {
  const authority = await TestAuthority.create("root");
  const hosts = ["web.example", "localhost", "127.0.0.1"];
  const server = createServer(
    await authority.issue({ commonName: "web", hosts, usage: "server" }),
    (_request, response) => response.end(),
  );
  const asked: unknown[] = [];
  server.on("secureConnection", ({ servername }) => asked.push(servername));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const rows: readonly (readonly [host: string, serverName: string | undefined, string | false])[] =
    [
      ["127.0.0.1", undefined, false],
      ["127.0.0.1", "web.example", "web.example"],
      ["127.0.0.1", "web.example.", "web.example"],
      ["localhost", undefined, "localhost"],
      ["localhost", "web.example", "web.example"],
      // An address is no name to choose a certificate by.
      ["localhost", "127.0.0.1", false],
    ];
  const pools = new ConnectionPools({ placesMax: 9, connectTimeoutMs: 5_000, connectionsMax: 1 });
  try {
    for (const [host, serverName, expected] of rows) {
      const tls = new TlsSettings({ serverName, authorities: [authority.certificate] });
      const pool = pools.of({ scheme: "https", host, port, tls });
      const headers = { host: "evil.example" };
      const { body } = await pool.request({ path: "/", method: "GET", headers });
      await body.dump();
      assert.deepEqual(asked.splice(0), [expected], `${host} ${serverName}`);
    }
  } finally {
    pools.close();
    server.close();
  }
});
