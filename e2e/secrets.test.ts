/**
 * Nothing secret shows: after good, bad and malformed uses of every kind of credential that one
 * server can have, logs at their most talkative, metrics and the answers to others hold none of it.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const STATIC_TOKEN = "static-5f1c7d20b9e34a6d";
const WRONG_TOKEN = "wrong-0d9c1e77aa5b42f3";
const BOOTSTRAP_SECRET = "q8w2e4r6t7y1u3i5";
const SECRET_TEXT = "content-of-a-secret-77c1";

const SECRETS = "/api/v1/namespaces/kube-system/secrets";
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";

test("no token, password or content of a Secret is in logs, metrics or errors", async () => {
  await using folder = await makeTempDir("secrets");
  const tokenFile = join(folder.path, "tokens.csv");
  await writeFile(tokenFile, `${STATIC_TOKEN},jane,1,"system:masters"\n${STATIC_TOKEN},jane,1\n`);
  await using server = await startServer({
    flags: [`--token-auth-file=${tokenFile}`, "--enable-bootstrap-token-auth", "-v=10"],
  });
  const { client } = server;
  const stringData = {
    "token-id": "abcdef",
    "token-secret": BOOTSTRAP_SECRET,
    "usage-bootstrap-authentication": "true",
    password: SECRET_TEXT,
  };
  const bootstrap = {
    metadata: { name: "bootstrap-token-abcdef" },
    type: "bootstrap.kubernetes.io/token",
    stringData,
  };
  (await client.post(SECRETS, bootstrap)).expect(201);
  (await client.post(ACCOUNTS, { metadata: { name: "bearer" } })).expect(201);
  const issued = (await client.post(`${ACCOUNTS}/bearer/token`, { spec: {} })).expect(201);
  const { token } = issued.object.status as { token: string };
  const [head = "", , signature = ""] = token.split(".");
  const forged = `${head}.${Buffer.from('{"iss":"x"}').toString("base64url")}.${signature}`;

  const others: Answer[] = [];
  const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
  const credentials = [STATIC_TOKEN, WRONG_TOKEN, token, forged, `abcdef.${BOOTSTRAP_SECRET}`];
  const schemes = credentials.flatMap((credential) => [
    `Bearer ${credential}`,
    `Bearer ${credential} ${credential}`,
    `Basic ${Buffer.from(`user:${credential}`).toString("base64")}`,
    credential,
  ]);
  for (const authorization of schemes) {
    for (const path of ["/api/v1/namespaces/default/pods", "/metrics", "/nothing"]) {
      const headers = { authorization };
      others.push(await anonymous.request(path, { headers }));
      others.push(await anonymous.request(path, { method: "POST", headers, body: authorization }));
    }
  }
  // What is refused must not be repeated: a Secret whose fields are wrong.
  const invalid = { ...bootstrap, metadata: { name: "Bad Name" }, immutable: SECRET_TEXT };
  others.push(await client.post(SECRETS, invalid));
  const patch = { data: { password: `${SECRET_TEXT} is no base64` } };
  const type = { "content-type": "application/merge-patch+json" };
  others.push(
    await client.request(`${SECRETS}/bootstrap-token-abcdef`, {
      method: "PATCH",
      headers: type,
      body: patch,
    }),
  );
  const metrics = (await client.get("/metrics")).expect(200).text;
  anonymous.close();

  const secrets = [STATIC_TOKEN, WRONG_TOKEN, BOOTSTRAP_SECRET, signature, SECRET_TEXT];
  const texts = { logs: server.logs, metrics, answers: others.map(({ text }) => text).join("\n") };
  for (const [where, text] of Object.entries(texts)) {
    for (const secret of secrets) {
      for (const form of [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")]) {
        assert.equal(text.includes(form), false, `${secret} is in the ${where}`);
      }
    }
  }
  assert.ok(server.logs.includes("duplicate token"), "the log was talkative");
});
