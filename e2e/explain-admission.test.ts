/** What people see of the rules that users bring: kubectl shows warnings and refusals, and a command tells which rules were considered. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../server/admission/testing/admission-webhook.js";
import {
  API_VERSION,
  binding,
  CONFIG_MAPS,
  configMap,
  policy,
  RULES,
  rule,
  webhook,
} from "./harness/admission-rules.js";
import { COMMAND } from "./harness/command.js";
import { bindingOf } from "./harness/grant.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

/** Runs `keelson explain-admission` on objects. */
async function explain({ kubeconfig }: ServerProcess, objects: object, ...args: string[]) {
  const command = [COMMAND, "explain-admission", "-f", "-", "--kubeconfig", kubeconfig, ...args];
  const child = spawn(process.execPath, command);
  child.stdin.end(JSON.stringify(objects));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number]>,
  ]);
  return { stdout, stderr, code };
}

describe("rules that users bring, as people see them", () => {
  let server: ServerProcess;
  let hook: AdmissionHook;

  before(async () => {
    hook = await openAdmissionHook();
    server = await startServer({ flags: ["--run-controllers"] });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await hook?.[Symbol.asyncDispose]();
  });

  test("kubectl shows warnings and refusals of policies and webhooks", async () => {
    await using kubectl = await Kubectl.open(server);
    const create = (...objects: object[]) =>
      kubectl.run(
        ["create", "-f", "-"],
        JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
      );
    const rules = await create(
      policy("warns", "object.data.warns == 'no'", "better not"),
      binding("warns", "Warn"),
      policy("denies", "object.data.denies == 'no'", "never"),
      binding("denies", "Deny"),
      {
        apiVersion: API_VERSION,
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "hooked" },
        webhooks: [
          {
            ...webhook("hook.example.com", hook, rule),
            matchConditions: [{ name: "mine", expression: "'hooked' in object.data" }],
          },
        ],
      },
    );
    assert.equal(rules.code, 0, rules.stderr);
    const warned = await create(configMap("warned", { warns: "yes" }));
    assert.equal(warned.code, 0);
    assert.equal(
      warned.stderr,
      "Warning: Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': better not\n",
    );
    const denied = await create(configMap("denied", { denies: "yes" }));
    assert.equal(denied.code, 1);
    assert.match(
      denied.stderr,
      /configmaps "denied" is invalid: : ValidatingAdmissionPolicy 'denies' with binding 'denies' denied request: never/,
    );
    hook.respond = () => ({ allowed: false, warnings: ["w"], status: { message: "not today" } });
    const asked = await create(configMap("asked", { hooked: "yes" }));
    assert.match(asked.stderr, /^Warning: w\n/);
    assert.match(
      asked.stderr,
      /admission webhook "hook.example.com" denied the request: not today/,
    );
    const dry = `${CONFIG_MAPS}?dryRun=All`;
    const headers = { "Explain-Admission": "1" };
    const explained = await server.client.request(dry, {
      method: "POST",
      headers,
      body: configMap("plain", { denies: "no" }),
    });
    const said = String(explained.headers.warning);
    assert.match(said, /ValidatingAdmissionPolicy denies\/denies allowed/);
    assert.match(said, /ValidatingAdmissionWebhook hooked\/hook.example.com skipped/);
  });

  test("keelson explain-admission shows every rule that was considered, and changes nothing", async () => {
    const { client } = server;
    const post = async (path: string, body: object) => (await client.post(path, body)).expect(201);
    await post(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
      bindingOf("devs", "ClusterRole edit", "Group devs"),
    );
    await post(
      `${RULES}/validatingadmissionpolicies`,
      policy("exp", "object.data.exp == 'no'", 'not"so"'),
    );
    await post(`${RULES}/validatingadmissionpolicybindings`, binding("exp", "Deny"));
    await post(`${RULES}/validatingadmissionpolicies`, policy("unbound", "true", "x"));
    const patch = [{ op: "add", path: "/data/more", value: "1" }];
    hook.respond = () => ({
      allowed: true,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      warnings: ["changed it"],
    });
    await post(`${RULES}/mutatingwebhookconfigurations`, {
      metadata: { name: "changes" },
      webhooks: [
        {
          ...webhook("changes.example.com", hook, { operations: ["CREATE", "UPDATE"] }),
          matchConditions: [{ name: "mine", expression: "'exp' in object.data" }],
        },
      ],
    });
    const jane = ["--as", "jane", "--as-group=devs", "--as-group", "others"];

    const taken = await explain(server, configMap("exp", { exp: "no" }), ...jane, "-o", "json");
    assert.equal(taken.code, 0, taken.stderr);
    const { items } = JSON.parse(taken.stdout) as {
      items: { rules: Record<string, unknown>[]; object: { data: object } }[];
    };
    const [item] = items;
    const told = item?.rules.map(({ milliseconds: _, ...finding }) => finding) ?? [];
    const find = (configuration: string, outcome: string) =>
      told.find((one) => one.configuration === configuration && one.outcome === outcome);
    assert.deepEqual(find("changes", "changed"), {
      plugin: "MutatingAdmissionWebhook",
      configuration: "changes",
      rule: "changes.example.com",
      outcome: "changed",
      why: JSON.stringify(patch),
    });
    assert.equal(find("exp", "allowed")?.rule, "exp");
    assert.equal(find("unbound", "skipped")?.why, "it has no binding");
    assert.deepEqual(item?.object.data, { exp: "no", more: "1" });

    const refused = await explain(server, configMap("exp", { exp: "yes" }), ...jane);
    assert.equal(refused.code, 1, refused.stderr);
    const lines = refused.stdout.split("\n");
    assert.match(
      lines[0] ?? "",
      /^CREATE configmaps default\/exp as jane: would be refused \(422\): configmaps "exp" is forbidden: ValidatingAdmissionPolicy 'exp' with binding 'exp' denied request: not"so"$/,
    );
    assert.equal(lines[1], "Warning: changed it");
    assert.match(lines[3] ?? "", /^PLUGIN +CONFIGURATION +RULE +OUTCOME +TIME +WHY$/);
    assert.match(
      refused.stdout,
      /\nValidatingAdmissionPolicy +exp +exp +refused +\d+\.\d\dms +.*not"so"\n/,
    );
    (await client.get(`${CONFIG_MAPS}/exp`)).expect(404);

    // What is there is updated, or deleted where that is asked for.
    await post(CONFIG_MAPS, configMap("there", { a: "1" }));
    const both = {
      kind: "List",
      items: [configMap("there", { exp: "1" }), configMap("absent", { exp: "no" })],
    };
    const several = await explain(server, both);
    assert.equal(several.code, 0, several.stderr);
    assert.match(several.stdout, /^UPDATE configmaps default\/there: would be taken\n/);
    assert.match(several.stdout, /\nCREATE configmaps default\/absent: would be taken\n/);
    const deleted = await explain(server, configMap("there", {}), "--operation=delete");
    assert.match(deleted.stdout, /^DELETE configmaps default\/there: would be taken\n/);
    (await client.get(`${CONFIG_MAPS}/there`)).expect(200);

    const unauthorized = await explain(server, configMap("x", {}), "--as=nobody");
    assert.equal(unauthorized.code, 1);
    assert.match(unauthorized.stdout, /would be refused \(403\): .*cannot create resource/);
    const unknown = await explain(server, { apiVersion: "v1", kind: "Nothing" });
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [2, "keelson: the server has no kind Nothing in v1\n"],
    );
    const stored = await client.request(CONFIG_MAPS, {
      method: "POST",
      headers: { "explain-admission": "json" },
      body: configMap("x", {}),
    });
    assert.equal(stored.status, 400);
  });
});
