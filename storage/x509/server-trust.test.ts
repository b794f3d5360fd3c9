/** Whom connections believe where the machine's authorities count; server/outbound has the others, over real ones. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { ServerTrust } from "./server-trust.js";
import { certificate, extension, name, sequence, text } from "./testing/der-writer.js";
import { makeKeys } from "./testing/random-chains.js";

const DNS = 0x82;

test("A3: a server that the machine's authorities vouch for is believed under the required name alone", () => {
  const [key] = makeKeys();
  assert.ok(key !== undefined);
  const now = Date.now();
  const subject = name([["2.5.4.3", 0x13, "web.example"]]);
  const raw = certificate({
    ...{ version: 3, serial: 1, issuer: subject, subject },
    ...{ notBefore: new Date(now - 60_000), notAfter: new Date(now + 60_000) },
    ...{ key: key.publicKey, signer: key.privateKey },
    extensions: [extension("2.5.29.17", sequence(text(DNS, "web.example")))],
  });
  const shown = new X509Certificate(raw);
  const socketOf = (authorized: boolean) =>
    ({
      ...{ authorized, authorizationError: "CERT_REJECTED" },
      getPeerX509Certificate: () => shown,
    }) as unknown as TLSSocket;
  const trust = ServerTrust.of(undefined);
  assert.deepEqual(trust.check(socketOf(true), "web.example"), []);
  for (const host of ["evil.example", "127.0.0.1"]) {
    assert.throws(
      () => trust.check(socketOf(true), host),
      /^CertificateRefused: x509: .*\b(valid|validate)\b/,
    );
  }
  assert.throws(() => trust.check(socketOf(false), "web.example"), /x509: CERT_REJECTED/);
});
