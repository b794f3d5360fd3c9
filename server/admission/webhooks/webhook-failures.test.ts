/** Webhooks that fail, in their answers or on the way there: refusals, or writes that pass by the policy. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import {
  configMap,
  harness,
  hook,
  refusal,
  removeAll,
  validating,
} from "../../registry/testing/hook-harness.js";
import { type AdmissionHook, jsonPatch } from "../testing/admission-webhook.js";
import { refusalOf } from "./failures.js";

test("a failing webhook refuses or is passed over, by its failure policy", async () => {
  const failures: [string, AdmissionHook["respond"], RegExp][] = [
    ["closes", () => ({ isReset: true }), /failed to call webhook: Post "https:\/\/127/],
    ["500", () => ({ status: 500, body: "boom" }), /an error on the server \("boom"\)/],
    ["302", () => ({ status: 302, headers: { location: "/else" }, body: "" }), /redirects are not/],
    ["no JSON", () => ({ status: 200, body: "<html>" }), /invalid webhook response: the answer is/],
    ["no response", () => ({ body: {} }), /webhook response was absent/],
    [
      "wrong uid",
      () => ({ allowed: true, uid: "another" }),
      /expected response.uid="[^"]+", got "a/,
    ],
    ["a patch", () => jsonPatch(), /validating webhook may not return response.patch/],
    [
      "other kind",
      ({ uid }) => ({ body: { apiVersion: "v1", kind: "Pod", response: { uid, allowed: true } } }),
      /expected webhook response of admission.k8s.io\/v1, Kind=AdmissionReview, got v1, Kind=Pod/,
    ],
    [
      "10 MiB",
      () => ({ body: { response: { allowed: true, x: "x".repeat(10 * 2 ** 20) } } }),
      /the answer has more than/,
    ],
  ];
  for (const failurePolicy of ["Fail", "Ignore"]) {
    await validating({ failurePolicy });
    for (const [name, respond, why] of failures) {
      hook.respond = respond;
      const write = harness.create("configmaps", configMap());
      if (failurePolicy === "Ignore") {
        const { annotations } = await write;
        const key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0";
        assert.equal(annotations.get(key), "judge.example.com", name);
        continue;
      }
      const error = await refusal(write);
      assert.equal(error.code, 500, name);
      const prefix = 'Internal error occurred: failed calling webhook "judge.example.com": ';
      assert.ok(error.message.startsWith(prefix), error.message);
      assert.match(error.message, why);
    }
    await removeAll();
  }
});

/** Opens a listener for the test; closed with the block. */
async function listening<T extends Server>(server: T): Promise<AsyncDisposable & { url: string }> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test("what speaks no TLS, shows another name, or answers without end is a failure", async () => {
  const { authority } = hook.stub;
  const caBundle = Buffer.from(authority.certificate).toString("base64");
  const elsewhere = await authority.issueServer(["hooks.example.com"]);
  await using garbage = await listening(createServer((socket) => socket.end("HTTP/1.1 200\r\n")));
  await using closing = await listening(createServer((socket) => socket.destroy()));
  await using misnamed = await listening(createHttpsServer(elsewhere, (_, to) => to.end("{}")));
  await using endless = await listening(
    createHttpsServer(await authority.issueServer(), (_, to) => {
      const more = () => {
        while (!to.destroyed && to.write(" ".repeat(2 ** 16)));
      };
      to.on("drain", more);
      more();
    }),
  );
  const faults: [string, RegExp][] = [
    [garbage.url, /failed to call webhook: Post "https:/],
    [closing.url, /failed to call webhook: Post "https:/],
    [misnamed.url, /x509: cannot validate certificate for 127/],
    [endless.url, /the answer has more than/],
    ["https://127.0.0.1:1/", /connect: connection refused$/],
  ];
  for (const failurePolicy of ["Fail", "Ignore"]) {
    for (const [url, why] of faults) {
      await validating({ failurePolicy, clientConfig: { url, caBundle } });
      const write = harness.create("configmaps", configMap());
      if (failurePolicy === "Fail") {
        const error = await refusal(write);
        assert.equal(error.code, 500, url);
        assert.match(error.message, why);
      } else await write;
      await removeAll();
    }
  }
});

test("a slow webhook is waited for as long as it says", async () => {
  await validating({ timeoutSeconds: 1 });
  hook.respond = () => ({ isSilent: true });
  const error = await refusal(harness.create("configmaps", configMap()));
  assert.match(error.message, /\?timeout=1s": context deadline exceeded$/);
});

test("an unknown authority and a service that is not there are failures that say so", async () => {
  const { url } = hook.clientConfig();
  await validating({ clientConfig: { url: url as string } });
  assert.match(
    (await refusal(harness.create("configmaps", configMap()))).message,
    /x509: certificate signed by unknown authority/,
  );
  await removeAll();
  const service = { namespace: "default", name: "missing", path: "/x" };
  await validating({ clientConfig: { service } });
  assert.match(
    (await refusal(harness.create("configmaps", configMap()))).message,
    /Post "https:\/\/missing.default.svc:443\/x\?timeout=10s": service "missing" not found/,
  );
});

test("39: a refusal has at most 64 KiB, whatever the webhook said", () => {
  const long = "x".repeat(1_000_000);
  const { status } = refusalOf("hook", { message: long, reason: long, details: { name: long } });
  assert.ok(JSON.stringify(status).length < 64 * 1024);
  const details = { name: "web", causes: [{ message: "too many" }] };
  assert.deepEqual(refusalOf("hook", { reason: "Full", details }).status.details, details);
});
