import assert from "node:assert/strict";
import { test } from "node:test";
import { TestAuthority } from "../../../e2e/harness/test-authority.js";
import { createNaming } from "../../api/naming.js";
import { secretWarnings } from "./secret-warnings.js";

const naming = createNaming("kubernetes");

test("R45: a Secret whose certificate and key do not fit is told so", async () => {
  const authority = await TestAuthority.create();
  const [one, other] = [await authority.issueServer(), await authority.issueServer()];
  const told = (cert: string, key: string, type = "kubernetes.io/tls") => {
    const data = Object.fromEntries(
      [
        ["tls.crt", cert],
        ["tls.key", key],
      ].map(([name = "", text = ""]) => [name, Buffer.from(text).toString("base64")]),
    );
    return secretWarnings(
      { apiVersion: "v1", kind: "Secret", metadata: {}, type, data },
      undefined,
      { naming },
    );
  };
  assert.deepEqual(told(one.cert, one.key), []);
  assert.deepEqual(told("x", "x", "Opaque"), []);
  const said = [
    told("x", one.key),
    told(one.cert, "x"),
    told(one.key, one.key),
    told(one.cert, one.cert),
    told(one.cert, other.key),
  ];
  assert.deepEqual(said.flat(), [
    "tls: failed to find any PEM data in certificate input",
    "tls: failed to find any PEM data in key input",
    "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    "tls: found a certificate rather than a key in the PEM for the private key",
    "tls: private key does not match public key",
  ]);
});
