/** Who may say what becomes of a PodCertificateRequest, and who may write the bundle of a signer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionAttributes, AdmissionPlugin } from "../../admission/admission.js";
import {
  createCertificatePlugins,
  type MayUseSigner,
} from "../../admission/certificate-signers.js";
import type { ApiObject } from "../../api/meta.js";
import { createNaming } from "../../api/naming.js";
import { StatusError } from "../../api/status.js";
import { createUser } from "../../request/user-info.js";
import { createSignerGuard } from "./signer-guard.js";

const naming = createNaming("kubernetes");
const group = "certificates.k8s.io";
const user = createUser({ name: "jane" });

/** Allows "verb name" of the list. */
const mayOnly =
  (...allowed: string[]): MayUseSigner =>
  async (_user, verb, name) =>
    allowed.includes(`${verb} ${name}`);

async function answerOf(plugin: AdmissionPlugin, resource: string, write: object): Promise<string> {
  const subresource = resource === "podcertificaterequests" ? "status" : "";
  const attributes = {
    operation: "UPDATE",
    resource: { group, version: "v1beta1", resource, kind: "X" },
    subresource,
    name: "one",
    namespace: "",
    user,
    ...write,
  } as unknown as AdmissionAttributes;
  assert.equal(plugin.handles?.("UPDATE", attributes.resource, subresource), true);
  try {
    await plugin.validate?.(attributes, new AbortController().signal);
    return "allowed";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return `${error.status.code}: ${error.status.message}`;
  }
}

const object = (parts: object): ApiObject => ({ metadata: { name: "one" }, ...parts }) as ApiObject;

test("the status of a request for a pod's certificate is written by who may sign for its signer", async () => {
  const spec = { signerName: "a.b/c" };
  const write = {
    oldObject: object({ spec }),
    object: object({ spec: { signerName: "d.e/f" }, status: { conditions: [{ type: "Denied" }] } }),
  };
  const ask = (allowed: string[], asked: object = write) =>
    answerOf(createSignerGuard(naming, mayOnly(...allowed)), "podcertificaterequests", asked);
  assert.match(
    await ask(["sign d.e/f", "approve a.b/c"]),
    /^422: .*spec\.signerName: Forbidden: User "jane" is not permitted to "sign" for signer "a\.b\/c"$/,
  );
  assert.equal(await ask(["sign a.b/c"]), "allowed");
  assert.equal(await ask(["sign a.b/*"]), "allowed");
  assert.equal(await ask([], { ...write, object: write.oldObject }), "allowed");
});

test("a change of a bundle's owners and finalizers alone needs no right on its signer", async () => {
  const plugin = createCertificatePlugins(naming, mayOnly()).find(
    ({ name }) => name === "ClusterTrustBundleAttest",
  );
  assert.ok(plugin);
  const spec = { signerName: "a.b/c", trustBundle: "x" };
  const ask = (metadata: object, trustBundle = "x") =>
    answerOf(plugin, "clustertrustbundles", {
      oldObject: object({ spec }),
      object: object({ spec: { ...spec, trustBundle }, metadata: { name: "one", ...metadata } }),
    });
  assert.equal(await ask({ finalizers: ["a.b/c"] }), "allowed");
  assert.equal(await ask({}), "allowed");
  const refusal = /^403: .*user not permitted to attest for signerName "a\.b\/c"$/;
  assert.match(await ask({ labels: { a: "b" } }), refusal);
  assert.match(await ask({}, "y"), refusal);
});
