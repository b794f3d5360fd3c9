import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { rootCertificates } from "node:tls";
import { answerJson, TestIssuer } from "../../../e2e/harness/oidc-issuer.js";
import { openOldRootServer } from "../../../e2e/harness/old-root-server.js";
import { makeTempDir } from "../../../e2e/harness/temp-dir.js";
import { fetchText } from "./fetch-text.js";
import { readHostRoots } from "./host-roots.js";

const { signal } = new AbortController();

describe("fetching a document", () => {
  let server: TestIssuer;
  let host: string;
  before(async () => {
    server = await TestIssuer.open({ algorithm: "ES256" });
    host = server.url;
  });
  after(() => server[Symbol.asyncDispose]());

  function get(path: string, from = host, stop: AbortSignal = signal): Promise<string> {
    return fetchText({ url: from + path, authorities: [server.authority] }, stop);
  }

  const redirectTo = (location: string) => (_request: unknown, response: ServerResponse) =>
    response.writeHead(302, { location }).end();

  test("a document is what stands in it", async () => {
    server.overrides.set("/good", (_request, response) => answerJson(response, { a: [1] }));
    assert.equal(await get("/good"), '{"a":[1]}');
  });

  test("a server is believed by a root of X.509 version 1 too", async () => {
    await using old = await openOldRootServer();
    assert.equal(
      await fetchText({ url: `${old.url}/`, authorities: [old.authority] }, signal),
      "ok",
    );
  });

  test("a few redirections are followed, but not out of TLS and not for ever", async () => {
    server.overrides.set("/once", redirectTo("/good"));
    server.overrides.set("/plain", redirectTo("http://127.0.0.1:1/good"));
    server.overrides.set("/loop", redirectTo("/loop"));
    assert.equal(await get("/once"), '{"a":[1]}');
    await assert.rejects(get("/plain"), /not an https address/);
    await assert.rejects(get("/loop"), /more than 3 redirections/);
  });

  test("an answer that is too long is not read to its end", async () => {
    let sent = 0;
    server.overrides.set("/endless", (_request, response) => {
      const send = () => {
        while (!response.destroyed) {
          sent++;
          if (!response.write("x".repeat(65_536))) return;
        }
      };
      response.on("drain", send);
      send();
    });
    await assert.rejects(get("/endless"), /more than 1048576 bytes/);
    assert.ok(sent < 1_000, String(sent));
  });

  test("whatever is no document is an error that names the address and quotes nothing", async () => {
    server.overrides.set("/error", (_request, response) => response.writeHead(500).end("secret"));
    await assert.rejects(get("/error"), { message: `${host}/error: HTTP status 500` });
    server.overrides.set("/cut", (_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{");
      response.socket?.destroy();
    });
    await assert.rejects(get("/cut"), /^Error: https:.*\/cut: /);
    await assert.rejects(get("/good", "http://127.0.0.1:1"), /not an https address/);
    await assert.rejects(get("/good", "https://127.0.0.1:1"), /ECONNREFUSED/);
  });

  test("a bearer's token is for the server that was named, not for where it redirects to", async () => {
    const seen: (string | undefined)[] = [];
    server.overrides.set("/self", (request, response) => {
      seen.push(request.headers.authorization);
      redirectTo("/good")(request, response);
    });
    await using other = await TestIssuer.open({
      algorithm: "ES256",
      host: "127.0.0.2",
    });
    other.overrides.set("/seen", (request, response) => {
      seen.push(request.headers.authorization);
      answerJson(response, {});
    });
    server.overrides.set("/away", redirectTo(`${other.url}/seen`));
    const authorities = [server.authority, other.authority];
    const bearer = "secret";
    await fetchText({ url: `${host}/self`, authorities, bearer }, signal);
    await fetchText({ url: `${host}/away`, authorities, bearer }, signal);
    assert.deepEqual(seen, ["Bearer secret", undefined]);
  });

  test("whoever is asked to stop stops", async () => {
    const controller = new AbortController();
    server.overrides.set("/silent", () => controller.abort());
    await assert.rejects(get("/silent", host, controller.signal));
    server.overrides.set("/slow", (_request, response) => {
      response.writeHead(200);
      response.write("{");
      later.abort();
    });
    const later = new AbortController();
    await assert.rejects(get("/slow", host, later.signal));
  });
});

test("S2-OIDC-09: the machine's authorities stand in a file, or come with Node", async () => {
  await using directory = await makeTempDir("roots");
  const file = join(directory.path, "roots.pem");
  await writeFile(file, "PEM");
  assert.deepEqual(await readHostRoots(file), ["PEM"]);
  assert.equal(await readHostRoots(join(directory.path, "missing")), rootCertificates);
  assert.match((await readHostRoots(undefined))[0] ?? "", /BEGIN CERTIFICATE/);
});
