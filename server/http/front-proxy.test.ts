/** Identities from a front proxy's headers, over real connections of both versions of HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestAuthority, type TestIdentity } from "../../e2e/harness/test-authority.js";
import { FrontProxyAuthenticator } from "../authn/front-proxy.js";
import { type Ask, type Front, openFront } from "../chain/testing/test-front.js";

const HEADERS = {
  username: ["X-Remote-User", "x-other-user"],
  uid: ["X-Remote-Uid"],
  group: ["X-Remote-Group", "X-More-Group"],
  extraPrefix: ["X-Remote-Extra-"],
};

const PATH = "/api/v1/pods";

type Sent = NonNullable<Ask["headers"]>;

describe("front proxy", () => {
  let front: Front;
  let authenticator: FrontProxyAuthenticator;
  let proxies: TestAuthority;
  let proxy: TestIdentity;
  let otherName: TestIdentity;
  before(async () => {
    proxies = await TestAuthority.create("proxies");
    [proxy, otherName] = await Promise.all([
      proxies.issue({ commonName: "front-proxy" }),
      proxies.issue({ commonName: "somebody", organizations: ["system:masters"] }),
    ]);
    authenticator = new FrontProxyAuthenticator({
      headers: HEADERS,
      allowedNames: ["front-proxy"],
      authorities: proxies.certificate,
    });
    front = await openFront({
      authenticators: [authenticator],
      otherAuthorities: proxies.certificate,
      // Returns the user and the remaining headers.
      authorizer: { name: "all", authorize: () => ({ decision: "allow", reason: "" }) },
      handler: (ctx) => {
        const headers = [...Object.keys(ctx.req.headers), ...ctx.req.rawHeaders];
        ctx.body = JSON.stringify({
          user: ctx.state.user,
          left: headers.filter((name) => /^(x[-_](remote|other|more)|authorization)/i.test(name)),
        });
      },
    });
  });
  after(async () => {
    await front[Symbol.asyncDispose]();
  });

  /** The user over both versions of HTTP, or the code of the refusal. */
  async function ask(headers: Sent, identity: TestIdentity | null | undefined = proxy) {
    const given = { headers, ...(identity === undefined ? {} : { identity }) };
    const [one, two] = [await front.ask(PATH, given), await front.askHttp2(PATH, given)];
    assert.equal(one.status, two.status);
    if (one.status !== 200) return one.status;
    assert.equal(one.text, two.text);
    const { user, left } = JSON.parse(one.text);
    return { user, left };
  }
  async function userOf(headers: Sent, identity?: TestIdentity | null) {
    const answer = await ask(headers, identity);
    return typeof answer === "number" ? answer : answer.user;
  }

  test("S2-PROXY-01: the first user header with a value wins, in the configured order", async () => {
    const both = { "x-other-user": "second", "x-remote-user": "first" };
    assert.equal((await userOf(both)).name, "first");
    assert.equal((await userOf({ ...both, "x-remote-user": "" })).name, "second");
    assert.equal((await userOf({ "X-REMOTE-USER": "jane" })).name, "jane");
  });

  test("S2-PROXY-02: every value of every group header is a group, commas are part of it", async () => {
    const headers = {
      "x-remote-user": "j",
      "x-remote-group": ["a", "b, c", ""],
      "x-more-group": "d",
    };
    assert.deepEqual((await userOf(headers)).groups, ["a", "b, c", "d", "system:authenticated"]);
  });

  test("S2-PROXY-03, S2-PROXY-06: extra keys are decoded, the uid is taken, names are UTF-8", async () => {
    const bytes = (text: string) => Buffer.from(text).toString("latin1");
    const user = await userOf({
      "x-remote-user": bytes("jürgen"),
      "X-Remote-Uid": "u-1",
      "X-Remote-Extra-Acme.com%2FProject": ["p1", "p2"],
      "x-remote-extra-__proto__": "p",
      "x-remote-extra-bad%zz": "kept",
    });
    assert.equal(user.name, "jürgen");
    assert.equal(user.uid, "u-1");
    assert.deepEqual(Object.entries(user.extra), [
      ["acme.com/project", ["p1", "p2"]],
      ["__proto__", ["p"]],
      ["bad%zz", ["kept"]],
    ]);
    assert.equal(await userOf({ "x-remote-user": bytes("j").concat("\xff") }), 401);
  });

  test("S2-PROXY-04: headers count only with a certificate of the proxies' authority", async () => {
    const jane = { "x-remote-user": "jane", "x-remote-group": "system:masters" };
    const strangers = await TestAuthority.create("proxies");
    const stranger = await strangers.issue({ commonName: "front-proxy" });
    const serving = await proxies.issue({ commonName: "front-proxy", usage: "server" });
    const past = { notBefore: new Date(Date.now() - 2e9), notAfter: new Date(Date.now() - 1e9) };
    const expired = await proxies.issue({ commonName: "front-proxy", ...past });
    assert.equal((await userOf(jane)).name, "jane");
    assert.equal((await userOf(jane, null)).name, "system:anonymous");
    // A client's certificate is only valid for its own subject.
    assert.equal((await userOf(jane, front.certificates.admin)).name, "test-admin");
    for (const refused of [stranger, serving, expired])
      assert.equal(await userOf(jane, refused), 401);
  });

  test("S2-PROXY-05: a common name that is not allowed is no proxy, an empty list allows all", async () => {
    const jane = { "x-remote-user": "jane" };
    assert.equal(await userOf(jane, otherName), 401);
    const open = new FrontProxyAuthenticator({
      headers: HEADERS,
      allowedNames: [],
      authorities: proxies.certificate,
    });
    await using other = await openFront({
      authenticators: [open],
      otherAuthorities: proxies.certificate,
      handler: (ctx) => {
        ctx.body = ctx.state.user.name;
      },
      authorizer: { name: "all", authorize: () => ({ decision: "allow", reason: "" }) },
    });
    const answer = await other.ask(PATH, { headers: jane, identity: otherName });
    assert.deepEqual([answer.status, answer.text], [200, "jane"]);
  });

  test("S2-PROXY-06: nobody after authentication sees the headers, trusted or not", async () => {
    const sent = {
      "x-remote-user": "jane",
      "X-Remote-Group": ["a", "b"],
      "x-remote-uid": "1",
      "x-remote-extra-a": "b",
    };
    for (const identity of [proxy, null, front.certificates.admin]) {
      const answer = await ask(sent, identity);
      assert.ok(typeof answer === "object");
      assert.deepEqual(answer.left, []);
    }
  });

  test("S2-PROXY-04: a proxy without a user header is nobody, and its certificate no identity", async () => {
    for (const headers of [{}, { "x-remote-user": "" }, { "x-remote-group": "system:masters" }]) {
      assert.equal(await userOf(headers), 401);
    }
  });

  test("smuggling: duplicates, underscores and look-alikes fake no identity", async () => {
    // A client's header and one appended by a proxy cannot be told apart.
    assert.equal(await userOf({ "x-remote-user": ["admin", "jane"] }), 401);
    assert.equal(await userOf({ "x-remote-user": "jane", "x-remote-uid": ["1", "2"] }), 401);
    assert.equal((await userOf({ "x-remote-user": ["jane", "jane", ""] })).name, "jane");
    assert.equal(await userOf({ x_remote_user: "admin", "x-remote_user": "admin" }), 401);
    const user = await userOf({
      "x-remote-user": "jane",
      x_remote_group: "system:masters",
      "x-remote-groups": "system:masters",
      "x-remote-extra": "system:masters",
      "x-remote-group": "",
    });
    assert.deepEqual(user.groups, ["system:authenticated"]);
    assert.deepEqual(user.extra, {});
    // Without a proxy's certificate no form of the header has an effect.
    for (const name of ["x-remote-user", "X-REMOTE-USER", "x_remote_user", "x-other-user"]) {
      assert.equal((await userOf({ [name]: "admin" }, null)).name, "system:anonymous");
    }
  });

  test("smuggling: what is no header on the wire is refused as a whole", async () => {
    const lines = [
      "X-Remote-User : admin",
      " X-Remote-User: admin",
      "X-Fine: a\r\n X-Remote-User: admin",
      "X-Fine: a\rX-Remote-User: admin",
      "X-Remote-User\x00: admin",
      "X-Remote\tUser: admin",
      "X-Remote-User: ad\x00min",
      "Transfer-Encoding: chunked\r\nContent-Length: 3\r\nX-Remote-User: admin",
    ];
    for (const line of lines) {
      const { key, cert } = proxy;
      const socket = await front.connect({ key, cert });
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: a\r\n${line}\r\nConnection: close\r\n\r\n`);
      let text = "";
      for await (const data of socket) text += String(data);
      assert.match(text, /^HTTP\/1\.1 (400|401) /, JSON.stringify(line));
    }
  });

  test("authorities that are replaced count at once, also on open connections", async () => {
    const next = await TestAuthority.create("next");
    assert.throws(() =>
      authenticator.replaceAuthorities("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"),
    );
    assert.equal((await userOf({ "x-remote-user": "jane" })).name, "jane");
    authenticator.replaceAuthorities(next.certificate);
    assert.equal(await userOf({ "x-remote-user": "jane" }), 401);
    const renewed = await next.issue({ commonName: "front-proxy" });
    assert.equal((await userOf({ "x-remote-user": "jane" }, renewed)).name, "jane");
    authenticator.replaceAuthorities(proxies.certificate);
  });
});
