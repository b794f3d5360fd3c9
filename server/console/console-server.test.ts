/** The console's server by requests that no browser would send, before an API server that tells what it was asked. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { openClient } from "../client/open-client.js";
import { ConsoleServer } from "./console-server.js";

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

const api = { server: undefined as Server | undefined, asked: [] as IncomingMessage[] };
const shared: { console?: ConsoleServer; origin?: string; key?: string } = {};

before(async () => {
  api.server = createServer((asked, answer) => {
    api.asked.push(asked);
    answer.setHeader("content-type", "text/html");
    answer.setHeader("set-cookie", "a=b");
    answer.setHeader("access-control-allow-origin", "*");
    answer.setHeader("warning", '299 - "careful"');
    if (asked.url?.includes("cut")) answer.write("half", () => answer.destroy());
    else asked.on("data", () => {}).on("end", () => answer.end(`<b>${asked.method}</b>`));
  }).listen(0, "127.0.0.1");
  await once(api.server, "listening");
  const server = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}/base`;
  const user = { token: { text: "secret" } };
  const config = { server, ca: undefined, serverName: undefined, isInsecure: false, user };
  const client = openClient(config, { clock: systemClock, timeoutMs: 5_000 });
  const files = new Map([["/", { type: "text/html", bytes: Buffer.from("page") }]]);
  const console = new ConsoleServer({ client, files, opened: () => {} });
  await console.listen(0);
  const { origin, hash } = new URL(console.offerAddress());
  Object.assign(shared, { console, origin });
  const code = hash.slice("#code=".length);
  const answer = await ask("POST", "/session", { origin }, code);
  assert.equal(answer.status, 200);
  shared.key = answer.text;
});
after(async () => {
  await shared.console?.close();
  api.server?.close();
  api.server?.closeAllConnections();
});

function ask(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): Promise<Answer> {
  const { port } = new URL(shared.origin ?? "");
  const sent = request({ host: "127.0.0.1", port, method, path, headers });
  sent.end(body);
  return new Promise((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      answer.on("error", reject);
      answer.on("end", () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
      });
    });
  });
}

function own(): Record<string, string> {
  return { origin: shared.origin ?? "", "x-keelson-key": shared.key ?? "" };
}

test("a request with the key goes on with the configuration's credentials and no others, and its answer is no page", async () => {
  const headers = {
    ...own(),
    authorization: "Bearer other",
    cookie: "a=b",
    "impersonate-user": "root",
    "content-type": "application/yaml",
  };
  const answer = await ask("PUT", "/k8s/api/v1/x?dryRun=All", headers, "a: b");
  assert.equal(answer.status, 200);
  assert.equal(answer.text, "<b>PUT</b>");
  const asked = api.asked.at(-1);
  assert.equal(asked?.url, "/base/api/v1/x?dryRun=All");
  const { authorization, cookie, origin, "impersonate-user": impersonated } = asked?.headers ?? {};
  assert.deepEqual(
    [authorization, cookie, origin, impersonated],
    ["Bearer secret", undefined, undefined, undefined],
  );
  assert.equal(asked?.headers["content-type"], "application/yaml");
  assert.equal(answer.headers.warning, '299 - "careful"');
  assert.equal(answer.headers["set-cookie"], undefined);
  assert.equal(answer.headers["access-control-allow-origin"], undefined);
  assert.equal(answer.headers["content-security-policy"], "default-src 'none'; sandbox");
  assert.equal(answer.headers["x-content-type-options"], "nosniff");
});

test("without the key, with an odd path, to a process, or with too much nothing is passed on", async () => {
  const before = api.asked.length;
  const refused: readonly (readonly [number, string, string, Record<string, string>])[] = [
    [401, "GET", "/k8s/api", {}],
    [401, "GET", "/k8s/api", { "x-keelson-key": "x" }],
    [401, "POST", "/session", { origin: shared.origin ?? "" }],
    [403, "GET", "/k8s/../secrets", own()],
    [403, "GET", "/k8s/api/%2e%2E/x", own()],
    [403, "GET", "/k8s//evil.example/x", own()],
    [403, "GET", "/k8s/api/v1/namespaces/a%2Fb", own()],
    [403, "GET", "/k8s/api/v1/namespaces/x/pods/y/exec?command=sh", own()],
    [403, "GET", "/k8s/clusters/a/api/v1/namespaces/x/pods/y/exec", own()],
    [403, "GET", "/k8s/api/v1/namespaces/x/services/y/proxy/", own()],
    [403, "GET", "/k8s/api/v1/nodes/x/%70roxy/logs", own()],
    [403, "GET", "/k8s/api", { ...own(), origin: "http://evil.example" }],
    [403, "GET", "/k8s/api", { ...own(), host: "evil.example" }],
    [404, "GET", "/k8s", own()],
    [404, "GET", "/package.json", own()],
    [405, "OPTIONS", "/k8s/api", own()],
    [405, "POST", "/", own()],
    [405, "GET", "/session", own()],
  ];
  for (const [status, method, path, headers] of refused) {
    const answer = await ask(method, path, headers);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    assert.equal(answer.headers["x-keelson-console"], "refused");
  }
  const large = await ask("POST", "/k8s/api", own(), "x".repeat(3 * 1024 * 1024 + 1)).catch(
    () => undefined,
  );
  assert.ok(large === undefined || large.status === 413);
  assert.equal(api.asked.length, before);
});

test("an answer that is cut does not look complete, and a server that is away is told as such", async () => {
  await assert.rejects(ask("GET", "/k8s/api/v1/cut", own()));
  const user = {};
  const config = {
    server: "http://127.0.0.1:1",
    ca: undefined,
    serverName: undefined,
    isInsecure: false,
    user,
  };
  const client = openClient(config, { clock: systemClock, timeoutMs: 5_000 });
  const console = new ConsoleServer({ client, files: new Map(), opened: () => {} });
  await console.listen(0);
  const { origin, hash } = new URL(console.offerAddress());
  const { port } = new URL(origin);
  const url = `http://127.0.0.1:${port}`;
  const headers = { origin };
  const key = await (
    await fetch(`${url}/session`, { method: "POST", headers, body: hash.slice(6) })
  ).text();
  const answer = await fetch(`${url}/k8s/api`, { headers: { ...headers, "x-keelson-key": key } });
  assert.equal(answer.status, 502);
  assert.match(await answer.text(), /the API server cannot be asked/);
  await console.close();
});
