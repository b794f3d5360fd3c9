/** Webhooks with untrusted certificates: the failure policy decides, only for matching writes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { TestIdentity } from "../../../e2e/harness/test-authority.js";
import { StatusError } from "../../api/status.js";
import { openRuleHarness } from "../../registry/testing/rule-harness.js";
import { openAdmissionHook } from "../testing/admission-webhook.js";

const harness = await openRuleHarness();
const hook = await openAdmissionHook();
after(async () => {
  await hook[Symbol.asyncDispose]();
  await harness[Symbol.asyncDispose]();
});

const CONFIGURATIONS = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const HOUR_MS = 3_600_000;

/** Allows every request of clients that trust it. */
async function openServer(identity: TestIdentity): Promise<Server & AsyncDisposable> {
  const server = createServer(identity, async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { apiVersion, kind, request: asked } = JSON.parse(text);
    const { uid } = asked as { uid: string };
    response.end(JSON.stringify({ apiVersion, kind, response: { uid, allowed: true } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(server, {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  });
}

function webhook(name: string, url: string, failurePolicy: string) {
  const caBundle = Buffer.from(hook.stub.ca).toString("base64");
  const about = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"] };
  return {
    name,
    clientConfig: { url, caBundle },
    rules: [{ ...about, resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    failurePolicy,
  };
}

const seconds = (time: Date) => time.toISOString().replace(/\.\d+Z$/, "Z");
const now = Date.now();
const past = new Date(now - HOUR_MS);
const future = new Date(now + HOUR_MS);
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
const PERIOD = "x509: certificate has expired or is not yet valid: current time";
const { authority } = hook.stub;

const CERTIFICATES = [
  {
    what: "has expired",
    identity: await authority.issueServer(undefined, { notAfter: past }),
    why: new RegExp(`${PERIOD} ${TIME} is after ${seconds(past)}$`),
  },
  {
    what: "is not valid yet",
    identity: await authority.issueServer(undefined, { notBefore: future }),
    why: new RegExp(`${PERIOD} ${TIME} is before ${seconds(future)}$`),
  },
  {
    what: "is for other names",
    identity: await authority.issueServer(["hooks.example.com"]),
    why: /x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs$/,
  },
  {
    what: "is for other addresses",
    identity: await authority.issueServer(["10.0.0.1", "10.0.0.2"]),
    why: /x509: certificate is valid for 10.0.0.1, 10.0.0.2, not 127.0.0.1$/,
  },
];

for (const { what, identity, why } of CERTIFICATES) {
  test(`a certificate that ${what} fails the call, and nothing else`, async () => {
    await using server = await openServer(identity);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/review`;
    for (const failurePolicy of ["Fail", "Ignore"]) {
      const name = `${what.replaceAll(" ", "-")}-${failurePolicy.toLowerCase()}`;
      const webhooks = [
        webhook("untimely.example.com", url, failurePolicy),
        webhook("sound.example.com", hook.stub.url, "Fail"),
      ];
      await harness.create(CONFIGURATIONS, { metadata: { name }, webhooks });
      hook.requests.length = 0;
      const write = harness.create("configmaps", { metadata: { name } });
      if (failurePolicy === "Ignore") {
        const { annotations } = await write;
        const key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0";
        assert.equal(annotations.get(key), "untimely.example.com");
      } else {
        await assert.rejects(write, (error) => {
          assert.ok(error instanceof StatusError);
          assert.equal(error.code, 500);
          const call = `Internal error occurred: failed calling webhook "untimely.example.com": failed to call webhook: Post "${url}?timeout=10s": tls: failed to verify certificate: `;
          assert.ok(error.message.startsWith(call), error.message);
          assert.match(error.message, why);
          return true;
        });
      }
      // The other webhook was called, and unrelated writes succeed.
      assert.equal(hook.requests.length, 1);
      await harness.create("secrets", { metadata: { name } });
      await harness.remove(CONFIGURATIONS, name);
    }
  });
}
