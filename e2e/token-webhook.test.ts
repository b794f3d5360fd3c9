/**
 * Bearer tokens that a webhook knows, on a running server, with kubectl where a person would use it:
 * who one is, how long it is remembered, and that an outage lets nobody in.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  openWebhookStub,
  type StubCall,
  type WebhookStub,
  withStatus,
} from "../server/client/testing/webhook-stub.js";
import { eventually } from "./harness/eventually.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";

const WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const AUDIENCE = "https://api.example";

/** Knows one token; says of another why it is none. */
function decide({ body }: StubCall) {
  switch (body.spec.token) {
    case "token-of-jane":
      return withStatus(body, {
        authenticated: true,
        user: { username: "jane", uid: "42", groups: ["dev"], extra: { scope: ["read"] } },
        audiences: [AUDIENCE, "other"],
      });
    case "token-for-others":
      return withStatus(body, {
        authenticated: true,
        user: { username: "jane" },
        audiences: ["other"],
      });
    case "token-of-yesterday":
      return withStatus(body, { error: "Credentials are expired" });
    default:
      return withStatus(body, { authenticated: false });
  }
}

describe("token webhook", () => {
  let dir: TempDir;
  let stub: WebhookStub;
  let server: ServerProcess;
  let client: HttpsClient;
  let kubeconfig: string;

  before(async () => {
    dir = await makeTempDir("token-webhook");
    stub = await openWebhookStub(decide);
    kubeconfig = join(dir.path, "kubeconfig");
    await writeFile(kubeconfig, stub.kubeconfig);
    server = await startServer({
      flags: [
        `--authentication-token-webhook-config-file=${kubeconfig}`,
        "--authentication-token-webhook-version=v1",
        `--api-audiences=${AUDIENCE}`,
      ],
    });
    client = new HttpsClient(server.url, { ca: server.credentials.ca });
  });

  after(async () => {
    client?.close();
    await server?.[Symbol.asyncDispose]();
    await stub?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  const whoAmI = (token: string): Promise<Answer> =>
    client.request(WHO_AM_I, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });

  test("S2-TR-01, S2-TR-05, S2-TR-06: the webhook says who it is", async () => {
    const answer = (await whoAmI("token-of-jane")).expect(201);
    assert.deepEqual((answer.object.status as { userInfo: unknown }).userInfo, {
      username: "jane",
      uid: "42",
      groups: ["dev", "system:authenticated"],
      extra: { scope: ["read"] },
    });
    const [call] = stub.calls;
    assert.equal(call?.clientName, "apiserver");
    assert.equal(call?.body.apiVersion, "authentication.k8s.io/v1");
    assert.deepEqual(call?.body.spec, { token: "token-of-jane", audiences: [AUDIENCE] });
  });

  test("S2-TR-03: it is asked once", async () => {
    await whoAmI("token-of-jane");
    await whoAmI("token-of-jane");
    assert.equal(stub.calls.length, 1);
  });

  test("S2-TR-07, S2-TR-08: unknown, foreign and expired tokens are 401, with the webhook's reason", async () => {
    for (const token of ["nobody's", "token-for-others"]) {
      const answer = (await whoAmI(token)).expect(401);
      assert.equal(answer.object.message, "Unauthorized");
    }
    const expired = (await whoAmI("token-of-yesterday")).expect(401);
    assert.equal(expired.object.message, "Credentials are expired");
  });

  test("kubectl is let in with the token", async () => {
    await using kubectl = await Kubectl.open(server);
    const anonymous = ["--client-certificate=", "--client-key=", "--token=token-of-jane"];
    const flags = [...anonymous, `--server=${server.url}`, "--insecure-skip-tls-verify"];
    await dir.write("empty", "");
    const { stdout, stderr } = await kubectl.run([
      ...[`--kubeconfig=${join(dir.path, "empty")}`, ...flags],
      ...["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"],
    ]);
    assert.equal(stdout, "jane", stderr);
  });

  test("S2-TR-11: a TokenReview asks the webhook, too", async () => {
    const review = async (token: string) =>
      (
        await server.client.post(TOKEN_REVIEWS, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token },
        })
      ).expect(201).object.status as { authenticated?: boolean; user?: { username: string } };
    const good = await review("token-of-jane");
    assert.deepEqual([good.authenticated, good.user?.username], [true, "jane"]);
    assert.notEqual((await review("nobody's")).authenticated, true);
  });

  test("P10: a changed client configuration is in use without a restart, one that cannot be used is not", async () => {
    await using other = await openWebhookStub(decide);
    let asked = 0;
    // Of a token that nobody remembers.
    const isAsked = async ({ calls }: WebhookStub) => {
      const before = calls.length;
      (await whoAmI(`unknown-${asked++}`)).expect(401);
      return calls.length > before;
    };
    await writeFile(kubeconfig, other.kubeconfig);
    await eventually("another webhook is asked", () => isAsked(other));
    await writeFile(kubeconfig, "clusters: 7");
    await eventually("that is told", () => server.logs.includes("changed files are not usable"));
    assert.ok(await isAsked(other));
    await writeFile(kubeconfig, stub.kubeconfig);
    await eventually("the first one is asked again", () => isAsked(stub));
  });

  test("S2-TR-10: an outage is a 401 for unknown tokens; other credentials and remembered tokens are as before", async () => {
    await stub.stop();
    (await whoAmI("token-of-joe")).expect(401);
    (await whoAmI("token-of-jane")).expect(201);
    (await server.client.get("/api/v1/namespaces")).expect(200);
    assert.ok(!server.logs.includes("token-of-"), "no token is logged");
  });
});
