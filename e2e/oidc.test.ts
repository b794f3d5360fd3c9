/**
 * Tokens of OpenID Connect issuers against a real server: by flags and by AuthenticationConfiguration,
 * with a real issuer over TLS that rotates its keys, goes down and comes back.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually } from "./harness/eventually.js";
import { bindingOf } from "./harness/grant.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { type Claims, TestIssuer } from "./harness/oidc-issuer.js";
import { refusalAtStart } from "./harness/refusal-at-start.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";

/** The server's own address is read from what it prints, where issuers are named too. */
const HOST = "127.0.0.2";
const RELOAD_PREFIX = "apiserver_authentication_config_controller_";
const NAMESPACES = "/api/v1/namespaces";
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

interface Whoami {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Record<string, readonly string[]>;
}

/** Speaks to one server with tokens, and with nothing. */
class TokenClient {
  readonly #client: HttpsClient;

  constructor(server: ServerProcess) {
    this.#client = new HttpsClient(server.url, { ca: server.credentials.ca });
  }

  get(path: string, token?: string): Promise<Answer> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return this.#client.request(path, { headers });
  }

  /** Who the server thinks the token's owner is; "401" when it does not believe it. */
  async whoami(token: string): Promise<Whoami | "401"> {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const headers = { authorization: `Bearer ${token}` };
    const answer = await this.#client.request(REVIEWS, { method: "POST", headers, body });
    if (answer.status === 401) {
      assert.equal(answer.object.kind, "Status");
      assert.equal(answer.object.reason, "Unauthorized");
      assert.equal(answer.object.message, "Unauthorized");
      return "401";
    }
    const { status } = answer.expect(201).object as unknown as { status: { userInfo: Whoami } };
    return status.userInfo;
  }

  async nameOf(token: string): Promise<string> {
    const user = await this.whoami(token);
    return user === "401" ? user : user.username;
  }

  close(): void {
    this.#client.close();
  }
}

function fileOf(jwt: readonly object[], others: object = {}): string {
  const apiVersion = "apiserver.config.k8s.io/v1";
  return JSON.stringify({ apiVersion, kind: "AuthenticationConfiguration", jwt, ...others });
}

function jwt(issuer: TestIssuer, prefix: string, others: object = {}): object {
  return {
    issuer: {
      url: issuer.url,
      certificateAuthority: issuer.authority,
      audiences: ["keelson"],
    },
    claimMappings: { username: { claim: "sub", prefix } },
    ...others,
  };
}

describe("an issuer by flags", () => {
  let issuer: TestIssuer;
  let folder: TempDir;
  let server: ServerProcess;
  let client: TokenClient;
  let authority: string;
  before(async () => {
    issuer = await TestIssuer.open({ host: HOST });
    // The issuer is down while the server starts.
    await issuer.stop();
    folder = await makeTempDir("oidc");
    authority = join(folder.path, "issuer-ca.pem");
    await writeFile(authority, issuer.authority);
    server = await startServer({
      flags: [
        `--oidc-issuer-url=${issuer.url}`,
        "--oidc-client-id=keelson",
        `--oidc-ca-file=${authority}`,
        "--oidc-groups-claim=groups",
        "--oidc-groups-prefix=oidc:",
        "--oidc-required-claim=hd=example.org",
        "--oidc-required-claim=tier=gold",
      ],
    });
    client = new TokenClient(server);
  });
  after(async () => {
    client.close();
    await server[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const sign = (claims: Claims = {}, header: Claims = {}) =>
    issuer.sign({ hd: "example.org", tier: "gold", ...claims }, header);

  test("S2-OIDC-16, S2-OIDC-09: with its issuer down the server starts, and it recovers alone", async () => {
    assert.equal(await client.whoami(await sign()), "401");
    (await server.client.get(NAMESPACES)).expect(200);
    await issuer.restart();
    await eventually(
      "tokens are believed",
      async () => (await client.whoami(await sign())) !== "401",
    );
  });

  test("P10: a changed --oidc-ca-file is in force without a restart", async () => {
    const isBelieved = async () => (await client.whoami(await sign())) !== "401";
    await writeFile(authority, (await TestAuthority.create("stranger")).certificate);
    await eventually("nobody vouches for the issuer", async () => !(await isBelieved()));
    await writeFile(authority, issuer.authority);
    await eventually("its authority does again", isBelieved);
  });

  test("S2-OIDC-01..07: a token makes a user with name and groups", async () => {
    assert.deepEqual(await client.whoami(await sign({ groups: ["dev", "ops"] })), {
      username: `${issuer.url}#jane`,
      groups: ["oidc:dev", "oidc:ops", "system:authenticated"],
    });
    const one = await client.whoami(await sign({ groups: "dev" }));
    assert.deepEqual(one !== "401" && one.groups, ["oidc:dev", "system:authenticated"]);
  });

  test("S2-OIDC-13, S2-ERR-02: authorization decides on the user that the token makes", async () => {
    const token = await sign({ groups: ["viewers"] });
    const refused = (await client.get(NAMESPACES, token)).expect(403);
    assert.match(
      String(refused.object.message),
      new RegExp(`User "${issuer.url}#jane" cannot list`),
    );
    const binding = bindingOf("oidc-viewers", "ClusterRole view", "Group oidc:viewers");
    (await server.client.post(BINDINGS, binding)).expect(201);
    (await client.get(NAMESPACES, token)).expect(200);
    (await client.get(NAMESPACES, await sign({ groups: ["others"] }))).expect(403);
    (await server.client.delete(`${BINDINGS}/oidc-viewers`)).expect(200);
    (await client.get(NAMESPACES, token)).expect(403);
  });

  test("S2-OIDC-02, S2-OIDC-08, S2-OIDC-11, S2-OIDC-12, S2-OIDC-13, S2-ERR-01: whatever is wrong is a 401", async () => {
    const now = Math.floor(Date.now() / 1000);
    const payload = (await sign()).split(".")[1] as string;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${encode({ alg: "HS256", kid: issuer.key.kid })}.${payload}`;
    const secret = JSON.stringify(issuer.key.publicJwk);
    const bad: Readonly<Record<string, string>> = {
      "another audience": await sign({ aud: "another" }),
      "a required claim with another value": await sign({ hd: "example.com" }),
      "no required claim": await sign({ tier: undefined }),
      "an expired token": await sign({ exp: now - 1 }),
      "a token of tomorrow": await sign({ nbf: now + 86_400, exp: now + 90_000 }),
      "another issuer": await sign({ iss: "https://issuer.example" }),
      "an unknown key": await sign({}, { kid: "unknown" }),
      "no signature": `${encode({ alg: "none" })}.${payload}.`,
      "a public key as a secret": `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`,
      "an access token": "an-opaque-access-token",
      "too much": await sign({ filler: "x".repeat(50_000) }),
    };
    for (const [what, token] of Object.entries(bad)) {
      const answer = await client.get(NAMESPACES, token).catch(() => undefined);
      // A header beyond the listener's bound never gets as far as authentication.
      assert.ok([401, 431].includes(answer?.status ?? 0), `${what}: ${answer?.status}`);
    }
  });

  test("S2-OIDC-14: a new key counts from its first token on, a withdrawn one no more", async () => {
    const old = await sign();
    assert.notEqual(await client.whoami(old), "401");
    await issuer.rotate();
    await eventually(
      "the new key is known",
      async () => (await client.whoami(await sign())) !== "401",
    );
    assert.equal(await client.whoami(old), "401");
  });

  test("no token is in the logs or in the metrics", async () => {
    const token = await sign();
    await client.whoami(token);
    await client.whoami(`${token}x`);
    const metrics = (await server.client.get("/metrics")).expect(200).text;
    for (const part of token.split(".")) {
      assert.ok(!server.logs.includes(part));
      assert.ok(!metrics.includes(part));
    }
    assert.match(
      metrics,
      /apiserver_authentication_jwt_authenticator_latency_seconds_count\{result="success"/,
    );
  });
});

test("S2-OIDC-09: without an authority of its own the issuer must be known to the machine", async () => {
  await using issuer = await TestIssuer.open({ host: HOST });
  await using folder = await makeTempDir("oidc-roots");
  const { SSL_CERT_FILE: before } = process.env;
  const roots = await folder.write("roots.pem", issuer.authority);
  const flags = [
    `--oidc-issuer-url=${issuer.url}`,
    "--oidc-client-id=keelson",
    "--oidc-username-claim=email",
  ];
  const token = await issuer.sign({ email: "jane@example.org", email_verified: true });
  const unverified = await issuer.sign({ email: "jane@example.org", email_verified: false });
  for (const [certFile, name] of [
    [roots, "jane@example.org"],
    [join(folder.path, "none.pem"), "401"],
  ] as const) {
    // What the server inherits.
    process.env.SSL_CERT_FILE = certFile;
    await using server = await startServer({ flags });
    if (before === undefined) delete process.env.SSL_CERT_FILE;
    else process.env.SSL_CERT_FILE = before;
    const client = new TokenClient(server);
    assert.equal(await client.nameOf(token), name);
    assert.equal(await client.whoami(unverified), "401", "S2-OIDC-15");
    client.close();
  }
});

describe("issuers by file", () => {
  let first: TestIssuer;
  let second: TestIssuer;
  let folder: TempDir;
  let file: string;
  let server: ServerProcess;
  let client: TokenClient;
  const anonymous = {
    enabled: true,
    conditions: [{ path: "/livez" }, { path: "/readyz" }, { path: "/healthz" }],
  };
  const mapped = {
    claimMappings: {
      username: { expression: "'first:' + claims.sub" },
      groups: { expression: "claims.?roles.orValue('').split(',')" },
      uid: { claim: "oid" },
      extra: [{ key: "example.org/team", valueExpression: "claims.?team.orValue('')" }],
    },
    claimValidationRules: [
      { expression: "claims.exp - claims.iat <= 86400", message: "at most a day" },
    ],
    userValidationRules: [
      { expression: "!user.username.startsWith('first:system:')", message: "reserved" },
    ],
  };

  /** As a mounted secret changes: at once. */
  async function replaceFile(text: string): Promise<void> {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  }

  before(async () => {
    first = await TestIssuer.open({ host: HOST, path: "/realms/first" });
    second = await TestIssuer.open({ host: HOST, algorithm: "ES256" });
    folder = await makeTempDir("authn-config");
    file = join(folder.path, "authentication.json");
    await replaceFile(fileOf([jwt(first, "", mapped)], { anonymous }));
    server = await startServer({ flags: [`--authentication-config=${file}`] });
    client = new TokenClient(server);
  });
  after(async () => {
    client.close();
    await server[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test("S2-AUTHC-11..14, S2-AUTHC-17: expressions make the user", async () => {
    const token = await first.sign({ roles: "a,b", oid: "1-2", team: "x" });
    assert.deepEqual(await client.whoami(token), {
      username: "first:jane",
      uid: "1-2",
      groups: ["a", "b", "system:authenticated"],
      extra: { "example.org/team": ["x"] },
    });
  });

  test("S2-AUTHC-09, S2-AUTHC-15, S2-AUTHC-18, S2-ERR-01: a rule that fails is a 401", async () => {
    const oid = "1";
    assert.equal(await client.nameOf(await first.sign({ oid })), "first:jane");
    assert.equal(await client.whoami(await first.sign({ oid, exp: 4_000_000_000 })), "401");
    assert.equal(await client.whoami(await first.sign({ oid, sub: "system:admin" })), "401");
    assert.equal(await client.whoami(await first.sign()), "401", "the uid's claim is missing");
  });

  test("S2-AUTHC-20, S2-ANON-03, S2-ERR-01, S2-HEALTH-13: anonymous requests reach three paths only", async () => {
    for (const path of ["/livez", "/readyz", "/healthz"]) (await client.get(path)).expect(200);
    for (const path of ["/livez/ping", "/version", "/api", "/apis", NAMESPACES]) {
      (await client.get(path)).expect(401);
    }
  });

  test("S2-AUTHC-22: a changed file is in force without a restart; a bad one leaves all as it was", async () => {
    assert.equal(await client.whoami(await second.sign()), "401");
    const both = [jwt(first, "1st:"), jwt(second, "2nd:")];
    await replaceFile(fileOf(both, { anonymous }));
    await eventually("the second issuer is believed", async () => {
      return (await client.nameOf(await second.sign())) === "2nd:jane";
    });
    assert.equal(await client.nameOf(await first.sign()), "1st:jane");
    const metric = (name: string, status: string) =>
      new RegExp(`^${RELOAD_PREFIX}${name}\\{status="${status}",[^}]*\\} ([1-9]\\S*)$`, "m");
    const counted = async (status: string) => {
      const { text } = (await server.client.get("/metrics")).expect(200);
      const total = metric("automatic_reloads_total", status).exec(text)?.[1];
      const at = metric("automatic_reload_last_timestamp_seconds", status).exec(text)?.[1];
      return at === undefined ? undefined : total;
    };
    assert.equal(await counted("success"), "1");
    const hashOf = async () => {
      const { text } = (await server.client.get("/metrics")).expect(200);
      return /config_info\{[^}]*hash="(sha256:[0-9a-f]{64})"\} 1/.exec(text)?.[1];
    };
    const hash = await hashOf();
    assert.ok(hash);

    await replaceFile(fileOf([jwt(first, "1st:"), jwt(first, "again:")], { anonymous }));
    await eventually("the refusal is counted", async () => (await counted("failure")) === "1");
    assert.equal(await client.nameOf(await second.sign()), "2nd:jane");
    assert.equal(await hashOf(), hash);
    const refusal = server.logs.slice(server.logs.indexOf("changed files are not usable"));
    assert.match(refusal, /^[^\n]+Duplicate value[^\n]*\n(?! +at )/, "one line, no stack");

    const gone = await second.sign();
    assert.equal(await client.nameOf(gone), "2nd:jane");
    await replaceFile(fileOf([jwt(first, "1st:")], { anonymous }));
    await eventually("the second issuer is believed no more", async () => {
      return (await client.whoami(gone)) === "401";
    });
    assert.notEqual(await hashOf(), hash);
  });

  test("S2-AUTHC-22, S2-ANON-01: anonymous access is closed by a change of the file", async () => {
    const code = async (path: string) => (await client.get(path)).status;
    assert.equal(await code("/livez"), 200);
    await replaceFile(fileOf([jwt(second, "2.:")], { anonymous: { enabled: false } }));
    await eventually("no path is open", async () => (await code("/livez")) === 401);
    assert.equal(
      await client.nameOf(await second.sign()),
      "2.:jane",
      "the rest of the file is in force too",
    );
    assert.match(server.logs, /warn +anonymous access has changed .*"enabled":false/);
  });
});

describe("what can not be started with", () => {
  const issuer = { url: "https://issuer.example", audiences: ["keelson"] };
  const username = { claim: "sub", prefix: "" };
  const good = { issuer, claimMappings: { username } };
  const many = Array.from({ length: 65 }, (_, index) => ({
    ...good,
    issuer: { ...issuer, url: `https://issuer-${index}.example` },
  }));
  const file = "--authentication-config=FILE";
  const cases: readonly (readonly [string, string, readonly string[], RegExp])[] = [
    [
      "S2-OIDC-01: an issuer without TLS",
      "",
      ["--oidc-issuer-url=http://a.example", "--oidc-client-id=x"],
      /--oidc-issuer-url: Invalid value: "http:\/\/a.example": URL scheme must be https/,
    ],
    [
      "S2-OIDC-02: an issuer without client id",
      "",
      ["--oidc-issuer-url=https://a.example"],
      /oidc-issuer-url and oidc-client-id must be specified together/,
    ],
    [
      "S2-OIDC-11: a shared secret as algorithm",
      "",
      ["--oidc-issuer-url=https://a.example", "--oidc-client-id=x", "--oidc-signing-algs=HS256"],
      /unsupported signing alg: "HS256"/,
    ],
    ["S2-AUTHC-01: an unknown field", fileOf([], { jwts: [] }), [file], /unknown field "jwts"/],
    [
      "S2-AUTHC-02, S2-LIM-01: 65 issuers",
      fileOf(many),
      [file],
      /jwt: Too many: 65: must have at most 64 items/,
    ],
    [
      "S2-AUTHC-03: one issuer twice",
      fileOf([good, good]),
      [file],
      /jwt\[1\].issuer.url: Duplicate value/,
    ],
    [
      "S2-AUTHC-03: the issuer of service accounts",
      fileOf([{ ...good, issuer: { ...issuer, url: "https://own.example" } }]),
      [file, "--service-account-issuer=https://own.example"],
      /URL must not overlap with disallowed issuers: \[https:\/\/own.example\]/,
    ],
    [
      "S2-AUTHC-07: several audiences without policy",
      fileOf([{ ...good, issuer: { ...issuer, audiences: ["a", "b"] } }]),
      [file],
      /audienceMatchPolicy must be MatchAny for multiple audiences/,
    ],
    [
      "S2-AUTHC-16: a mail address that nobody verifies",
      fileOf([{ issuer, claimMappings: { username: { expression: "claims.email" } } }]),
      [file],
      /claims.email_verified must be used in/,
    ],
    [
      "S2-AUTHC-19: file and flags",
      fileOf([good]),
      [file, "--oidc-username-claim=sub"],
      /authentication-config file and oidc-\* flags are mutually exclusive/,
    ],
    [
      "S2-AUTHC-21: anonymous access in the file and as a flag",
      fileOf([], { anonymous: { enabled: true } }),
      [file, "--anonymous-auth=true"],
      /anonymous: Forbidden: --anonymous-auth flag cannot be set/,
    ],
  ];
  for (const [title, text, flags, line] of cases) {
    test(`${title} is one clear line`, async () => {
      await using folder = await makeTempDir("start");
      const path = await folder.write("config.json", text);
      const given = flags.map((flag) => flag.replace("FILE", path));
      const refusal = await refusalAtStart(given);
      assert.match(refusal, line);
      assert.equal(refusal.split("\n").length, 1, refusal);
    });
  }
});
