/** Impersonation by headers, over real connections of both versions of HTTP. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type { AuthorizationAttributes, Authorizer } from "../authz/authorizer.js";
import { Impersonation } from "../authz/impersonation.js";
import { parseImpersonation } from "./impersonation.js";
import { type Ask, type Front, openFront } from "./testing/test-front.js";

const PODS = "/api/v1/pods";

type Sent = NonNullable<Ask["headers"]>;

/** The administrator may do everything (as a member of the masters), jane may list pods. */
const authorizer: Authorizer = {
  name: "test",
  authorize({ user, info }: AuthorizationAttributes) {
    const isAllowed = user.name === "jane" && info.verb === "list";
    return isAllowed
      ? { decision: "allow", reason: "" }
      : { decision: "no-opinion", reason: "no rule" };
  },
};

describe("impersonation", () => {
  let front: Front;
  before(async () => {
    const impersonation = new Impersonation({
      authorizer: {
        name: "masters",
        authorize: ({ user }) =>
          user.groups.includes("system:masters")
            ? { decision: "allow", reason: "" }
            : { decision: "no-opinion", reason: "" },
      },
      naming: createNaming("kubernetes"),
      isConstrained: false,
    });
    front = await openFront({
      authorizer,
      impersonation,
      handler: (ctx) => {
        const headers = [...Object.keys(ctx.req.headers), ...ctx.req.rawHeaders];
        ctx.body = JSON.stringify({
          user: ctx.state.user,
          impersonator: ctx.state.impersonator?.name,
          left: headers.filter((name) => /^impersonate/i.test(name)),
        });
      },
    });
  });
  after(async () => {
    await front[Symbol.asyncDispose]();
  });

  async function ask(headers: Sent, identity?: null) {
    const given = { headers, ...(identity === null ? { identity } : {}) };
    const [one, two] = [await front.ask(PODS, given), await front.askHttp2(PODS, given)];
    assert.equal(one.text, two.text);
    assert.equal(one.status, two.status);
    return { ...JSON.parse(one.text), status: one.status };
  }

  test("S2-IMP-01, S2-IMP-02: the request is decided and served as the impersonated user's", async () => {
    const { status, user, impersonator, left } = await ask({
      "Impersonate-User": "jane",
      "Impersonate-Group": ["dev", "ops, too"],
      "IMPERSONATE-UID": "7",
      "Impersonate-Extra-Acme.com%2FProject": ["one", "two"],
      "impersonate-extra-scopes": "a",
    });
    assert.equal(status, 200);
    assert.deepEqual(user, {
      name: "jane",
      uid: "7",
      groups: ["dev", "ops, too", "system:authenticated"],
      extra: { "acme.com/project": ["one", "two"], scopes: ["a"] },
    });
    // S2-IMP-10: the real user is known, and the headers are removed.
    assert.equal(impersonator, "test-admin");
    assert.deepEqual(left, []);
    // The administrator may, the impersonated user may not.
    const joe = await ask({ "impersonate-user": "joe" });
    assert.equal(joe.status, 403);
    assert.match(joe.message, /^pods is forbidden: User "joe" cannot list resource "pods"/);
  });

  test("S2-IMP-09: who may not impersonate is refused, whatever the other user may", async () => {
    const refused = await ask({ "impersonate-user": "jane" }, null);
    assert.equal(refused.status, 403);
    assert.equal(
      refused.message,
      'users "jane" is forbidden: User "system:anonymous" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });

  test("S2-IMP-03: group, uid and extra need a user", async () => {
    const message = async (headers: Sent) => {
      const { status, message } = await ask(headers);
      assert.equal(status, 400);
      return message;
    };
    assert.equal(
      await message({ "impersonate-group": ["dev", "ops"] }),
      'requested [Group "dev", Group "ops"] without impersonating a user',
    );
    assert.match(await message({ "impersonate-uid": "7" }), /^requested \[UID "7"\] without/);
    assert.match(
      await message({ "impersonate-extra-a": "b" }),
      /^requested \[UserExtra "a": "b"\]/,
    );
    assert.match(
      await message({ "impersonate-group": "dev", "impersonate-user": "" }),
      /^requested/,
    );
  });

  test("S2-IMP-04: names are UTF-8, keys are percent-decoded", async () => {
    const bytes = (text: string) => Buffer.from(text).toString("latin1");
    const { user } = await ask({
      "impersonate-user": "jane",
      "impersonate-group": bytes("größe"),
      "impersonate-extra-%c3%bc": "x",
      "impersonate-extra-bad%zz": "kept",
    });
    assert.deepEqual(user.groups, ["größe", "system:authenticated"]);
    assert.deepEqual(user.extra, { ü: ["x"], "bad%zz": ["kept"] });
    assert.equal(
      (await ask({ "impersonate-user": Buffer.from([0x6a, 0xff]).toString("latin1") })).status,
      400,
    );
  });

  test("smuggling: several users, an empty one, underscores", async () => {
    const twice = await ask({ "impersonate-user": ["jane", "admin"] });
    assert.equal(twice.status, 400);
    assert.equal((await ask({ "impersonate-user": ["jane", "jane"] })).user.name, "jane");
    // An empty name must not make the request act as its own user.
    assert.equal((await ask({ "impersonate-user": "" })).status, 400);
    const other = await ask({ impersonate_user: "jane", "impersonate-users": "jane" });
    assert.equal(other.user.name, "test-admin");
    assert.equal(other.impersonator, undefined);
  });
});

test("any headers whatever: one user with what was sent, nobody, or a refusal", () => {
  const names = [
    "impersonate-user",
    "Impersonate-User",
    "impersonate_user",
    "IMPERSONATE-GROUP",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-a",
    "Impersonate-Extra-A",
    "impersonate-extra-",
    "impersonate-extra",
    "accept",
  ];
  const headers = fc.array(
    fc.tuple(fc.constantFrom(...names), fc.constantFrom("", "a", "b", "a, b", "system:masters")),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(headers, (sent) => {
      const valuesOf = (name: string) =>
        sent.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
      const users = new Set(valuesOf("impersonate-user"));
      const uids = new Set(valuesOf("impersonate-uid"));
      const groups = valuesOf("impersonate-group");
      const extra = {
        ...(valuesOf("impersonate-extra-a").length > 0 && { a: valuesOf("impersonate-extra-a") }),
        ...(valuesOf("impersonate-extra-").length > 0 && { "": valuesOf("impersonate-extra-") }),
      };
      const [user = ""] = users;
      const [uid = ""] = uids;
      const isAsked = groups.length > 0 || uid !== "" || Object.keys(extra).length > 0;
      const isRefused =
        users.size > 1 || uids.size > 1 || (user === "" && (isAsked || users.size > 0));
      const parse = () => parseImpersonation(sent.flat());
      if (isRefused) {
        assert.throws(parse, (error) => error instanceof StatusError && error.code === 400);
      } else if (user === "") {
        assert.equal(parse(), undefined);
      } else {
        assert.deepEqual(parse(), { name: user, uid, groups, extra });
      }
    }),
  );
});
