/** This server's credentials for each webhook. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { makeTempDir } from "../../e2e/harness/temp-dir.js";
import { systemClock } from "../../storage/base/clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { readWebhookUsers } from "./webhook-users.js";

async function read(file: object) {
  await using dir = await makeTempDir("webhook-users");
  const path = join(dir.path, "config");
  await writeFile(path, JSON.stringify(file));
  return await readWebhookUsers(path, { naming: createNaming(DEFAULT_VENDOR), clock: systemClock });
}

const users = (...names: string[]) => names.map((name) => ({ name, user: { token: name } }));
const signal = new AbortController().signal;

test("the most exact name of a host decides, with its port before without", async () => {
  const names = ["a.team.svc:8443", "a.team.svc", "*.team.svc:8443", "*.team.svc", "*.example.com"];
  const of = await read({
    users: users(...names, "*"),
  });
  const table: [string, string][] = [
    ["a.team.svc:8443", "a.team.svc:8443"],
    ["a.team.svc:443", "a.team.svc"],
    ["b.team.svc:8443", "*.team.svc:8443"],
    ["b.team.svc:443", "*.team.svc"],
    ["b.team.svc:9443", "*"],
    ["x.y.example.com:443", "*.example.com"],
    ["example.com:443", "*"],
    ["[::1]:443", "*"],
  ];
  for (const [host, name] of table) {
    assert.deepEqual(await of(host)?.current(signal), { authorization: `Bearer ${name}` }, host);
  }
  // One source per user, so that its files and plug-ins are read once.
  assert.equal(of("a.team.svc:443"), of("a.team.svc:443"));
});

test("without a name for it, the user of the current context decides, or nobody", async () => {
  const file = {
    users: users("me"),
    contexts: [{ name: "c", context: { user: "me", cluster: "none" } }],
  };
  const of = await read({ ...file, "current-context": "c" });
  assert.deepEqual(await of("a:443")?.current(signal), { authorization: "Bearer me" });
  assert.equal((await read(file))("a:443"), undefined);
  await assert.rejects(read({ users: [{ name: "a", user: { "auth-provider": {} } }] }), {
    name: "ClientConfigError",
  });
});
