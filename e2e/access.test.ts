/**
 * Who gets in, and how the server leaves: client certificates, anonymous requests, the kubeconfig's
 * mode, no second door, and a shutdown that breaks nobody's request.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, stat } from "node:fs/promises";
import { get as getHttp } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { makeUntrustedCertificate } from "./harness/certificates.js";
import { eventually, within } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { runServer, type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

function configMap(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } };
}

function assertStatus(answer: Answer, code: number, reason: string): void {
  const status = answer.expect(code).object;
  assert.equal(status.kind, "Status");
  assert.equal(status.status, "Failure");
  assert.equal(status.reason, reason);
  assert.equal(status.code, code);
}

describe("access", () => {
  let server: ServerProcess;
  let anonymous: HttpsClient;
  before(async () => {
    server = await startServer();
    anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
  });
  after(async () => {
    anonymous.close();
    await server[Symbol.asyncDispose]();
  });

  for (const path of ["/livez", "/readyz", "/healthz", "/version"]) {
    test(`S2-ANON-01: anonymous may read ${path}`, async () => {
      (await anonymous.get(path)).expect(200);
    });
  }

  const closed = [
    "/api",
    "/apis",
    "/api/v1",
    "/openapi/v2",
    "/metrics",
    "/metrics/slis",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    `${CONFIG_MAPS}/x`,
    "/api/v1/secrets?watch=1",
    "/nothing/here",
  ];
  for (const path of closed) {
    test(`S2-ANON-02: anonymous may not read ${path}`, async () => {
      const answer = await anonymous.get(path);
      assertStatus(answer, 403, "Forbidden");
      assert.match(
        String(answer.object.message),
        /User "system:anonymous" cannot (get|list|watch) /,
      );
    });
  }

  test("anonymous may not write, and the refusal comes before the body is judged", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const path = method === "POST" ? CONFIG_MAPS : `${CONFIG_MAPS}/x`;
      assertStatus(await anonymous.request(path, { method, body: "{" }), 403, "Forbidden");
    }
    (await server.client.get(`${CONFIG_MAPS}/x`)).expect(404);
  });

  test("S2-TOK-05: an unknown bearer token is 401, also where anonymous may read", async () => {
    for (const path of [CONFIG_MAPS, "/version"]) {
      const answer = await anonymous.request(path, { headers: { authorization: "Bearer none" } });
      assertStatus(answer, 401, "Unauthorized");
    }
  });

  test("S2-X509-03: a client certificate of an unknown authority is 401", async () => {
    const { cert, key } = await makeUntrustedCertificate();
    const stranger = new HttpsClient(server.url, { ca: server.credentials.ca, cert, key });
    try {
      assertStatus(await stranger.get(CONFIG_MAPS), 401, "Unauthorized");
    } finally {
      stranger.close();
    }
  });

  test("a client that does not know the server's CA does not connect", async () => {
    const { ca: _unknown, ...identity } = server.credentials;
    const client = new HttpsClient(server.url, { ...identity, ca: "" });
    await assert.rejects(client.get("/version"), /certificate|self-signed|issuer/i);
    client.close();
  });

  test("S2-X509-02: the kubeconfig's certificate may do everything", async () => {
    (await server.client.get("/api/v1/namespaces")).expect(200);
    (await server.client.post(CONFIG_MAPS, configMap("allowed"))).expect(201);
    (await server.client.get("/metrics")).expect(200);
  });

  test("the kubeconfig and all private keys are readable by their owner only", async () => {
    assert.equal((await stat(server.kubeconfig)).mode & 0o777, 0o600);
    const { stdout } = await promisify(execFile)("grep", ["-rl", "PRIVATE KEY", server.dataDir]);
    const keyFiles = stdout
      .trim()
      .split("\n")
      .filter((line) => line !== "");
    for (const file of keyFiles) {
      assert.equal((await stat(file)).mode & 0o077, 0, `${file} is open to others`);
    }
  });

  test("there is no insecure port: plain HTTP gets no answer", async () => {
    const answer = new Promise<string>((resolve) => {
      const outgoing = getHttp(`http://127.0.0.1:${server.port}/version`, (message) => {
        message.resume();
        resolve(`status ${message.statusCode}`);
      });
      outgoing.once("error", () => resolve("no answer"));
    });
    const said = await within("plain HTTP is refused", answer);
    // A 400 that says "use https" would be fine, content is not.
    assert.match(said, /no answer|status 400/);
    assert.deepEqual(await listeningPorts(server.pid), [server.port]);
  });

  test("a private kubeconfig stays private when the server starts again", async () => {
    await using dir = await makeTempDir("access");
    for (const _start of [1, 2]) {
      await using again = await startServer({ dataDir: dir.path });
      assert.equal((await stat(again.kubeconfig)).mode & 0o777, 0o600);
      await again.stop();
      await chmod(again.kubeconfig, 0o644);
    }
  });
});

describe("start", () => {
  const refusals: readonly (readonly [string, readonly string[]])[] = [
    ["an unknown flag", ["serve", "--no-such-flag"]],
    ["a bad value", ["serve", "--secure-port=many"]],
    ["a port out of range", ["serve", "--secure-port=70000"]],
    ["an unknown subcommand", ["dance"]],
    ["a bad URL", ["serve", "--etcd-servers=not a url"]],
  ];
  for (const [what, args] of refusals) {
    test(`${what} is one clear line and exit status 1`, async () => {
      await using dir = await makeTempDir("start");
      const flags = args[0] === "serve" ? [...args, `--data-dir=${dir.path}`] : args;
      const { code, output } = await runServer(flags);
      assert.equal(code, 1, output);
      assert.equal(output.trim().split("\n").length, 1, output);
    });
  }

  test("--version prints one line and exits 0", async () => {
    const { code, output } = await runServer(["--version"]);
    assert.equal(code, 0);
    assert.match(output, /^\S.*\d+\.\d+.*\n$/);
  });
});

describe("shutdown", () => {
  test("S1-WATCH-27: readiness fails first, requests finish, watches end, exit 0", async () => {
    await using server = await startServer({ flags: ["--shutdown-delay-duration=6s"] });
    await furnished(server.client);
    const events = await server.client.watch(`${CONFIG_MAPS}?watch=1`);
    const names: string[] = [];
    const watched = (async () => {
      for await (const event of events) names.push(String(event.object.metadata.name));
    })();
    const upload = startSlowUpload(server, configMap("slow"));
    await upload.begun;

    server.signal("SIGTERM");
    const { client } = server;
    await eventually("readyz fails", async () => (await client.get("/readyz")).status >= 500);
    // Load balancers take their time to notice: until then the replica serves on.
    (await client.get("/livez")).expect(200);
    (await client.post(CONFIG_MAPS, configMap("late"))).expect(201);
    upload.finish();
    assert.equal(await within("the slow upload is answered", upload.status), 201);

    await within("the watch ends in good order", watched);
    assert.deepEqual(names.sort(), ["kube-root-ca.crt", "late", "slow"]);
    assert.equal(await server.waitForExit(), 0, server.logs.slice(-2_000));
  });

  test("an idle server with open connections ends at once", async () => {
    // Longer than the test waits for its end.
    await using server = await startServer({ flags: ["--shutdown-grace-period=1h"] });
    (await server.client.get("/version")).expect(200);
    const idle = connect(server.port, "127.0.0.1");
    idle.on("error", () => {});
    await server.stop();
    idle.destroy();
  });
});

/** Sends a create of which the second half of the body waits for `finish`. */
function startSlowUpload(server: ServerProcess, object: unknown) {
  const body = JSON.stringify(object);
  const outgoing = request(`${server.url}${CONFIG_MAPS}`, {
    method: "POST",
    ...server.credentials,
    agent: false,
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
  });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.once("error", reject);
    outgoing.once("response", (message) => {
      message.resume();
      resolve(message.statusCode ?? 0);
    });
  });
  const begun = new Promise<void>((resolve) => {
    outgoing.write(body.slice(0, 10), () => resolve());
  });
  return { begun, status, finish: () => outgoing.end(body.slice(10)) };
}

/** The TCP ports on which a process listens, from the kernel's tables. */
async function listeningPorts(pid: number): Promise<number[]> {
  const run = promisify(execFile);
  // Sockets of the process by inode; the tables have state 0A for "listening".
  const { stdout: links } = await run("sh", ["-c", `ls -l /proc/${pid}/fd`]);
  const inodes = new Set([...links.matchAll(/socket:\[(\d+)\]/g)].map(([, inode]) => inode));
  const { stdout: table } = await run("sh", ["-c", "cat /proc/net/tcp /proc/net/tcp6"]);
  const ports = table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === "0A" && inodes.has(fields[9]))
    .map((fields) => Number.parseInt(String(fields[1]?.split(":")[1]), 16));
  return [...new Set(ports)];
}
