/** Client certificates, alone and with tokens, over real connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, get } from "node:https";
import { after, before, describe, test } from "node:test";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { LOSES_CHAINS, showsChains } from "../../e2e/harness/shows-chains.js";
import {
  TestAuthority,
  type TestIdentity,
  type TestLeaf,
} from "../../e2e/harness/test-authority.js";
import { silentLogger } from "../../storage/base/logger.js";
import { ClientCertificateAuthenticator } from "../authn/client-certificate.js";
import { parseTokenFile, TokenFileAuthenticator } from "../authn/token-file.js";
import { type Front, openFront } from "../chain/testing/test-front.js";

const PODS = "/api/v1/pods";
const HOUR_MS = 3_600_000;

describe("client certificates", () => {
  let front: Front;
  let one: TestAuthority;
  let two: TestAuthority;
  before(async () => {
    [one, two] = await Promise.all([TestAuthority.create("one"), TestAuthority.create("two")]);
    front = await openFront({
      otherAuthorities: one.certificate + two.certificate,
      authenticators: [
        new TokenFileAuthenticator(parseTokenFile("tokens", "t1,tom,1", silentLogger)),
      ],
      authorizer: { name: "all", authorize: () => ({ decision: "allow", reason: "" }) },
      handler: (ctx) => {
        ctx.body = JSON.stringify(ctx.state.user);
      },
    });
    front.clientCertificates.replaceAuthorities(`${one.certificate}\n# two\n${two.certificate}`);
  });
  after(async () => {
    await front[Symbol.asyncDispose]();
  });

  /** The user over both versions of HTTP, or the code of the refusal. */
  async function userOf(identity: TestIdentity | null, headers: Record<string, string> = {}) {
    const answers = [
      await front.ask(PODS, { identity, headers }),
      await front.askHttp2(PODS, { identity, headers }),
    ] as const;
    assert.equal(answers[0].status, answers[1].status);
    const [{ status, text }] = answers;
    return status === 200 ? JSON.parse(text) : status;
  }
  const codeOf = async (authority: TestAuthority, leaf: TestLeaf) =>
    await userOf(await authority.issue({ commonName: "jane", ...leaf }));

  test("S2-X509-01: each authority of a bundle vouches for clients", async () => {
    assert.equal((await codeOf(one, {})).name, "jane");
    assert.equal((await codeOf(two, {})).name, "jane");
  });

  test("S2-X509-02: no, one or three organisations are as many groups; uid there is none", async () => {
    const groupsOf = async (...organizations: string[]) =>
      (await codeOf(one, { organizations })).groups;
    const all = "system:authenticated";
    assert.deepEqual(await groupsOf(), [all]);
    assert.deepEqual(await groupsOf("dev"), ["dev", all]);
    assert.deepEqual(await groupsOf("dev", "a, b=c", "größe"), ["dev", "a, b=c", "größe", all]);
    const user = await codeOf(one, { organizations: ["dev"] });
    assert.equal(user.uid, "");
    // Only the certificate's id is recorded.
    assert.deepEqual(Object.keys(user.extra), ["credential-id"]);
    assert.match(user.extra["credential-id"][0], /^X509SHA256=[0-9a-f]{64}$/);
  });

  test("S2-X509-03: what is untrusted, over, to come, or not for clients is 401", async () => {
    const past = new Date(Date.now() - 2 * HOUR_MS);
    const future = new Date(Date.now() + HOUR_MS);
    const refused: Readonly<Record<string, number>> = {
      stranger: await codeOf(await TestAuthority.create("one"), {}),
      expired: await codeOf(one, { notAfter: new Date(Date.now() - HOUR_MS), notBefore: past }),
      "not yet valid": await codeOf(one, { notBefore: future }),
      server: await codeOf(one, { usage: "server" }),
      "not understood": await codeOf(one, { criticalExtension: "1.2.3.4" }),
    };
    for (const [what, code] of Object.entries(refused)) assert.equal(code, 401, what);
    // Without a list of usages it is valid for all, as in kube-apiserver.
    assert.equal((await codeOf(one, { usage: "any" })).name, "jane");
  });

  test("S2-X509-03: without a certificate, or without a name in it, others are asked", async () => {
    assert.equal((await userOf(null)).name, "system:anonymous");
    const nameless = await one.issue({ organizations: ["system:masters"] });
    assert.equal((await userOf(nameless)).name, "system:anonymous");
    assert.equal((await userOf(nameless, { authorization: "Bearer t1" })).name, "tom");
  });

  test("S2-X509-01: intermediates that the client sends along lead to an authority", async (t) => {
    if (!(await showsChains())) return t.skip(LOSES_CHAINS);
    const middle = await one.createIntermediate("middle");
    const lower = await middle.createIntermediate("lower");
    assert.equal((await codeOf(middle, {})).name, "jane");
    assert.equal((await codeOf(lower, {})).name, "jane");
    // Without the intermediates the chain is incomplete, and a non-authority cannot sign.
    const leaf = await lower.issue({ commonName: "jane" });
    const [alone = ""] = leaf.cert.split(/(?<=-----END CERTIFICATE-----\n)/);
    assert.equal(await userOf({ ...leaf, cert: alone }), 401);
    const pretender = await one.createIntermediate("pretender", { isAuthority: false });
    assert.equal(await codeOf(pretender, {}), 401);
  });

  test("S2-X509-01: intermediates lead to an authority whoever looks first, and again after a change", async (t) => {
    if (!(await showsChains())) return t.skip(LOSES_CHAINS);
    const other = await TestAuthority.create("other");
    const [clients, others] = [one, other].map((authority) => {
      const asked = new ClientCertificateAuthenticator({ credentialIdKey: "id" });
      asked.replaceAuthorities(authority.certificate);
      return asked;
    }) as [ClientCertificateAuthenticator, ClientCertificateAuthenticator];
    await using shared = await openFront({
      otherAuthorities: one.certificate + other.certificate,
      authenticators: [others, clients],
      authorizer: { name: "all", authorize: () => ({ decision: "allow", reason: "" }) },
      handler: (ctx) => {
        ctx.body = String(ctx.state.user?.name);
      },
    });
    const identity = await (await one.createIntermediate("middle")).issue({ commonName: "jane" });
    await using connection = openConnection(shared, identity);
    assert.equal(await connection.ask(), "jane");
    clients.replaceAuthorities(other.certificate);
    assert.equal(await connection.ask(), "401");
    clients.replaceAuthorities(two.certificate + one.certificate);
    assert.equal(await connection.ask(), "jane");
  });

  test("S2-X509-01: a root of version 1 vouches for clients, an intermediate of version 1 does not", async (t) => {
    const old = await TestAuthority.create("old", { version: 1 });
    front.clientCertificates.replaceAuthorities(one.certificate + old.certificate);
    assert.equal((await codeOf(old, {})).name, "jane");
    const stranger = await TestAuthority.create("old", { version: 1 });
    assert.equal(await codeOf(stranger, {}), 401);
    if (!(await showsChains())) return t.skip(LOSES_CHAINS);
    assert.equal((await codeOf(await old.createIntermediate("new"), {})).name, "jane");
    assert.equal(await codeOf(await one.createIntermediate("older", { version: 1 }), {}), 401);
  });

  test("S2-X509-02: an attribute says the uid; what is not one text is 401", async () => {
    front.clientCertificates.replaceAuthorities(one.certificate);
    const uidOf = async (...uids: string[]) => {
      const user = await codeOf(one, { uids });
      return typeof user === "number" ? user : user.uid;
    };
    assert.equal(await uidOf("1b4e28ba-2fa1"), "1b4e28ba-2fa1");
    assert.equal(await uidOf("größe #7"), "größe #7");
    assert.equal(await uidOf("a", "b"), 401);
    assert.equal(await uidOf("a", "a"), 401);
    assert.equal(await uidOf(""), 401);
    assert.equal(await uidOf("#03020041"), 401, "a string of bits");
  });

  test("a resumed TLS session is as good as the first, also with intermediates", async (t) => {
    if (!(await showsChains())) return t.skip(LOSES_CHAINS);
    const middle = await one.createIntermediate("middle");
    const identity = await middle.issue({ commonName: "jane" });
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const options = { ca: front.certificates.servingAuthority, maxVersion, ...identity };
      const first = connectTls({ ...options, host: "127.0.0.1", port: front.port });
      const session = await askOn(first, 200);
      const again = connectTls({ ...options, host: "127.0.0.1", port: front.port, session });
      await askOn(again, 200);
    }
  });

  test("S2-REQ-06: certificate and token together: the first that is good decides", async () => {
    const good = await one.issue({ commonName: "jane" });
    const bad = await (await TestAuthority.create("one")).issue({ commonName: "jane" });
    const token = (text: string) => ({ authorization: `Bearer ${text}` });
    assert.equal((await userOf(good, token("t1"))).name, "jane");
    assert.equal((await userOf(good, token("wrong"))).name, "jane");
    assert.equal((await userOf(bad, token("t1"))).name, "tom");
    assert.equal(await userOf(bad, token("wrong")), 401);
    assert.equal(await userOf(bad), 401);
    assert.equal(await userOf(null, token("wrong")), 401);
  });
});

/** Sends requests on one connection; returns the body, or the code of the refusal. */
function openConnection(front: Front, identity: TestIdentity) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const options = { ca: front.certificates.servingAuthority, ...identity, agent, path: PODS };
  return {
    async ask(): Promise<string> {
      const request = get({ ...options, host: "127.0.0.1", port: front.port });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      let text = "";
      for await (const data of response) text += String(data);
      return response.statusCode === 200 ? text : String(response.statusCode);
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

/** Sends one raw request on a connection; returns the session to resume. */
async function askOn(socket: TLSSocket, status: number): Promise<Buffer> {
  socket.on("error", () => {});
  let session: Buffer | undefined;
  socket.on("session", (given: Buffer) => {
    session = given;
  });
  await once(socket, "secureConnect");
  socket.write(`GET ${PODS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  let text = "";
  for await (const data of socket) text += String(data);
  assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
  assert.ok(text.includes("jane"), text);
  return session ?? socket.getSession() ?? Buffer.alloc(0);
}
