/**
 * RBAC as people use it: kubectl with roles, bindings, can-i, aggregation, refused escalations; the
 * default policy after a restart; reviews against real requests.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ANYTHING, definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import { type ApiObject, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const GROUP = "rbac.authorization.k8s.io";
const RBAC = `/apis/${GROUP}/v1`;
const FLAGS = ["--authorization-mode=RBAC", "--run-controllers"];
/** S2-RBAC-12: aggregated rules are written within a second; slow machines get some more. */
const AGGREGATION_MS = 5_000;

describe("RBAC through kubectl", () => {
  let server: ServerProcess;
  let kubectl: Kubectl;

  before(async () => {
    server = await startServer({ flags: FLAGS });
    kubectl = await Kubectl.open(server);
    await kubectl.ok(["create", "namespace", "shop"]);
  });
  after(async () => {
    await kubectl[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const as = (user: string, ...args: string[]) => [...args, "--as", user];
  const canI = async (user: string, ...args: string[]) =>
    (await kubectl.run(as(user, "auth", "can-i", ...args))).stdout.trim().split("\n")[0];

  test("S2-RBAC-01, S2-RBAC-03, S2-AZ-18: a role and a binding open what was refused, in its namespace", async () => {
    const refused = await kubectl.fails(as("jane", "get", "configmaps", "-n", "shop"));
    assert.match(
      refused,
      /Error from server \(Forbidden\): configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "shop"$/m,
    );
    const what = ["--verb=get,list", "--resource=configmaps", "-n", "shop"];
    await kubectl.ok(["create", "role", "reader", ...what]);
    await kubectl.ok(["create", "rolebinding", "r", "--role=reader", "--user=jane", "-n", "shop"]);
    await kubectl.ok(as("jane", "get", "configmaps", "-n", "shop"));
    await kubectl.fails(as("jane", "get", "configmaps", "-n", "default"));
    await kubectl.fails(as("jane", "create", "configmap", "x", "-n", "shop"));
  });

  test("S2-SAR-01, S2-SAR-04: can-i answers and lists", async () => {
    assert.equal(await canI("jane", "list", "configmaps", "-n", "shop"), "yes");
    assert.equal(await canI("jane", "delete", "configmaps", "-n", "shop"), "no");
    assert.equal(await canI("jane", "list", "configmaps", "-n", "default"), "no");
    assert.equal(await canI("jane", "get", "/healthz"), "yes");
    const list = await kubectl.ok(as("jane", "auth", "can-i", "--list", "-n", "shop"));
    assert.match(list, /^configmaps\s+\[\]\s+\[\]\s+\[get list\]$/m);
    assert.match(
      list,
      /^selfsubjectaccessreviews\.authorization\.k8s\.io\s+\[\]\s+\[\]\s+\[create\]$/m,
    );
    assert.match(list, /\[\/healthz\]\s+\[\]\s+\[get\]/);
    const all = await kubectl.ok(["auth", "can-i", "--list"]);
    assert.match(all, /^\*\.\*\s+\[\]\s+\[\]\s+\[\*\]$/m);
  });

  test("S2-SAR-05: the reviews can be created, and nothing else; the local one in a namespace", async () => {
    const { object } = (await server.client.get("/apis/authorization.k8s.io/v1")).expect(200);
    const resources = object.resources as { name: string; namespaced: boolean; verbs: string[] }[];
    assert.deepEqual(
      resources.map(({ name, namespaced, verbs }) => [name, namespaced, verbs]),
      [
        ["localsubjectaccessreviews", true, ["create"]],
        ["selfsubjectaccessreviews", false, ["create"]],
        ["selfsubjectrulesreviews", false, ["create"]],
        ["subjectaccessreviews", false, ["create"]],
      ],
    );
    const local = "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews";
    const ask = (namespace: string) => {
      const resourceAttributes = { verb: "get", resource: "configmaps", namespace };
      return server.client.post(local, { spec: { user: "jane", resourceAttributes } });
    };
    const answered = (await ask("shop")).expect(201).object.status as { allowed: boolean };
    assert.equal(answered.allowed, true);
    (await ask("default")).expect(422);
    (await server.client.get(local)).expect(405);
  });

  test("S2-SSR-03: everybody who is known may ask who they are; the anonymous may not", async () => {
    assert.match(await kubectl.ok(as("jane", "auth", "whoami")), /Username\s+jane/);
    const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
    const review = await anonymous.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
    });
    review.expect(403);
    (await anonymous.get("/version")).expect(200);
    (await anonymous.get("/healthz")).expect(200);
    (await anonymous.get("/api")).expect(403);
    anonymous.close();
  });

  test("S2-RBAC-25: view, edit and admin in a namespace", async () => {
    for (const role of ["view", "edit", "admin"]) {
      const flags = [`--clusterrole=${role}`, `--user=${role}er`, "-n", "shop"];
      await kubectl.ok(["create", "rolebinding", role, ...flags]);
    }
    const table: readonly (readonly [string, string, string])[] = [
      ["list", "pods", "yes yes yes"],
      ["list", "secrets", "no yes yes"],
      ["create", "deployments.apps", "no yes yes"],
      ["list", "roles", "no no yes"],
      ["create", "rolebindings", "no no yes"],
      ["create", "resourcequotas", "no no no"],
    ];
    for (const [verb, resource, expected] of table) {
      const answers = await Promise.all(
        ["viewer", "editer", "adminer"].map((user) => canI(user, verb, resource, "-n", "shop")),
      );
      assert.equal(answers.join(" "), expected, `${verb} ${resource}`);
    }
  });

  test("S2-RBAC-12, S2-RBAC-23: a labelled role is part of view at once, and written there soon", async () => {
    const templates = ["list", "podtemplates", "-n", "shop"];
    assert.equal(await canI("viewer", ...templates), "no");
    const role = {
      apiVersion: `${GROUP}/v1`,
      kind: "ClusterRole",
      metadata: { name: "templates", labels: { [`${GROUP}/aggregate-to-view`]: "true" } },
      rules: [{ apiGroups: [""], resources: ["podtemplates"], verbs: ["list"] }],
    };
    await kubectl.ok(["create", "-f", "-"], JSON.stringify(role));
    for (const user of ["viewer", "editer", "adminer"]) {
      assert.equal(await canI(user, ...templates), "yes", user);
    }
    const rulesOf = async (name: string) => {
      const { object } = await server.client.get(`${RBAC}/clusterroles/${name}`);
      return JSON.stringify(object.rules ?? []);
    };
    for (const name of ["view", "edit", "admin"]) {
      const isThere = async () => (await rulesOf(name)).includes("podtemplates");
      await eventually(`${name} is written`, isThere, AGGREGATION_MS);
    }
    // What people write into an aggregated role does not stay, and is never in force.
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["*"] }];
    const patch = ["-p", JSON.stringify({ rules }), "--type=merge"];
    await kubectl.ok(["patch", "clusterrole", "view", ...patch]);
    assert.equal(await canI("viewer", "list", "secrets", "-n", "shop"), "no");
    const isBack = async () => (await rulesOf("view")).includes("podtemplates");
    await eventually("view is as it gathers", isBack, AGGREGATION_MS);
    await kubectl.ok(["delete", "clusterrole", "templates"]);
    assert.equal(await canI("viewer", ...templates), "no");
  });

  test("S2-RBAC-17, S2-RBAC-18: nobody hands out more than they hold, unless they may", async () => {
    const inShop = ["-n", "shop"];
    await kubectl.ok(
      as("adminer", "create", "role", "mine", "--verb=get", "--resource=secrets", ...inShop),
    );
    const escalation = await kubectl.fails(
      as("adminer", "create", "role", "more", "--verb=delete", "--resource=nodes", ...inShop),
    );
    assert.match(
      escalation,
      /roles\.rbac\.authorization\.k8s\.io "more" is forbidden: user "adminer" \(groups=\["system:authenticated"\]\) is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["nodes"\], Verbs:\["delete"\]\}/,
    );
    const bind = ["create", "rolebinding", "root", "--clusterrole=cluster-admin", "--user=x"];
    assert.match(
      await kubectl.fails(as("adminer", ...bind, ...inShop)),
      /is attempting to grant RBAC permissions not currently held/,
    );
    const applied = {
      apiVersion: `${GROUP}/v1`,
      kind: "Role",
      metadata: { name: "mine", namespace: "shop" },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    };
    const apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    assert.match(
      await kubectl.fails(as("adminer", ...apply), JSON.stringify(applied)),
      /not currently held/,
    );
    const binder = ["--verb=bind", "--resource=clusterroles", "--resource-name=cluster-admin"];
    await kubectl.ok(["create", "role", "binder", ...binder, ...inShop]);
    const give = ["--role=binder", "--user=adminer", ...inShop];
    await kubectl.ok(["create", "rolebinding", "binder", ...give]);
    await kubectl.ok(as("adminer", ...bind, ...inShop));
    assert.equal(await canI("x", "*", "*", ...inShop), "yes");
    assert.equal(await canI("x", "*", "*"), "no");
  });

  test("CVE-2019-11247, CVE-2022-3162: a role on one custom kind opens no other, by no scope and no path", async () => {
    const group = "parts.example.com";
    const kinds = { gears: "Namespaced", cogs: "Namespaced", plants: "Cluster" };
    for (const [plural, scope] of Object.entries(kinds)) {
      const kind = plural.charAt(0).toUpperCase() + plural.slice(1);
      const spec = { scope, versions: [versionOf(ANYTHING)] };
      const definition = definitionOf(`${plural}.${group}`, kind, spec);
      await kubectl.ok(["create", "-f", "-"], JSON.stringify(definition));
    }
    const root = `/apis/${group}/v1`;
    const objectOf = (kind: string) => ({
      kind,
      apiVersion: `${group}/v1`,
      metadata: { name: "one" },
    });
    const shop = `${root}/namespaces/shop`;
    const made = [`${shop}/gears`, `${shop}/cogs`, `${root}/plants`];
    for (const [index, kind] of ["Gears", "Cogs", "Plants"].entries()) {
      (await server.client.post(made[index] ?? "", objectOf(kind))).expect(201);
    }
    const inShop = ["--verb=*", `--resource=gears.${group},plants.${group}`, "-n", "shop"];
    await kubectl.ok(["create", "role", "maker", ...inShop]);
    await kubectl.ok(["create", "rolebinding", "m", "--role=maker", "--user=mona", "-n", "shop"]);
    const everywhere = ["--verb=get,list,watch", `--resource=gears.${group}`];
    await kubectl.ok(["create", "clusterrole", "gear-reader", ...everywhere]);
    await kubectl.ok([
      "create",
      "clusterrolebinding",
      "g",
      "--clusterrole=gear-reader",
      "--user=mona",
    ]);
    const ask = (path: string, method = "GET") => {
      const type = { "content-type": "application/merge-patch+json" };
      const body = method === "PATCH" ? { body: { spec: { mine: true } } } : {};
      return server.client.request(path, {
        method,
        headers: { "impersonate-user": "mona", ...(method === "PATCH" && type) },
        ...body,
      });
    };
    (await ask(`${shop}/gears/one`)).expect(200);
    (await ask(`${root}/gears`)).expect(200);

    // The role in the namespace names a kind that has none.
    for (const method of ["GET", "PATCH", "DELETE"]) {
      (await ask(`${shop}/plants/one`, method)).expect(404);
    }
    (await ask(`${shop}/plants`)).expect(404);
    (await ask(`${root}/plants/one`)).expect(403);

    const sibling = ["..%2Fcogs", "..%2Fcogs%2Fone", "..%2Fcogs%2Fshop%2Fone"];
    for (const path of sibling.flatMap((name) => [
      `${root}/gears/${name}`,
      `${root}/namespaces/${name}/gears`,
      `${shop}/gears/${name}`,
      `${root}/gears?fieldSelector=metadata.name%3D${name}`,
      `${root}/gears?fieldSelector=metadata.namespace%3D${name}`,
    ])) {
      const answer = await ask(path);
      assert.ok(!answer.text.includes('"kind":"Cogs"'), `${path}: ${answer.text}`);
      const items = (answer.object as { items?: unknown[] }).items ?? [];
      assert.ok(answer.status >= 400 || items.length === 0, `${path}: ${answer.text}`);
    }
    const { object } = (await server.client.get(`${root}/plants/one`)).expect(200);
    assert.equal(object.spec, undefined);
  });

  test("kubectl auth reconcile adds what is missing", async () => {
    const role = {
      apiVersion: `${GROUP}/v1`,
      kind: "Role",
      metadata: { name: "reader", namespace: "shop" },
      rules: [{ apiGroups: [""], resources: ["services"], verbs: ["list"] }],
    };
    await kubectl.ok(["auth", "reconcile", "-f", "-"], JSON.stringify(role));
    assert.equal(await canI("jane", "list", "services", "-n", "shop"), "yes");
    assert.equal(await canI("jane", "list", "configmaps", "-n", "shop"), "yes");
  });

  test("S2-SAR-07, S2-SAR-09: a review says what the request itself is told, and why", async () => {
    const targets: readonly (readonly [string, string, Record<string, string>])[] = [
      ["GET", "/api/v1/namespaces/shop/configmaps", { verb: "list", resource: "configmaps" }],
      ["GET", "/api/v1/namespaces/shop/secrets", { verb: "list", resource: "secrets" }],
      ["GET", "/api/v1/namespaces/shop/pods/p", { verb: "get", resource: "pods", name: "p" }],
      ["GET", `${RBAC}/namespaces/shop/roles`, { verb: "list", resource: "roles", group: GROUP }],
      ["DELETE", "/api/v1/namespaces/shop/pods/p", { verb: "delete", resource: "pods", name: "p" }],
    ];
    for (const user of ["jane", "viewer", "editer", "adminer", "nobody"]) {
      for (const [method, path, attributes] of targets) {
        const headers = { "impersonate-user": user };
        const { status } = await server.client.request(path, { method, headers });
        const review = await reviewOf(server.client, user, { namespace: "shop", ...attributes });
        assert.equal(review.allowed, status !== 403, `${user}: ${method} ${path}`);
        if (review.allowed) assert.match(String(review.reason), /^RBAC: allowed by RoleBinding "/);
      }
    }
  });
});

async function reviewOf(client: HttpsClient, user: string, resourceAttributes: object) {
  const answer = await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, groups: ["system:authenticated"], resourceAttributes },
  });
  return answer.expect(201).object.status as { allowed: boolean; reason?: string };
}

test("S2-RBAC-19..22: the default policy is there after the first start, and again after the next", async () => {
  await using dir = await makeTempDir("policy");
  const start = () => startServer({ flags: FLAGS, dataDir: dir.path });
  const selector = "?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults";
  const readOf = async ({ client }: ServerProcess, path: string) =>
    (await client.get(`${RBAC}/${path}`)).expect(200).object;
  {
    await using server = await start();
    const { client } = server;
    const roles = await client.get(`${RBAC}/clusterroles${selector}`);
    assert.equal(roles.items.length, 69);
    (await client.delete(`${RBAC}/clusterrolebindings/system:discovery`)).expect(200);
    const basic = await readOf(server, "clusterrolebindings/system:basic-user");
    await replace(client, "clusterrolebindings/system:basic-user", { ...basic, subjects: [] });
    const dns = await readOf(server, "clusterroles/system:kube-dns");
    dns.metadata.annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
    await replace(client, "clusterroles/system:kube-dns", { ...dns, rules: [] });
    await server.stop();
  }
  await using server = await start();
  assert.ok(await readOf(server, "clusterrolebindings/system:discovery"));
  const basic = await readOf(server, "clusterrolebindings/system:basic-user");
  assert.deepEqual(basic.subjects, [
    { apiGroup: GROUP, kind: "Group", name: "system:authenticated" },
  ]);
  assert.deepEqual((await readOf(server, "clusterroles/system:kube-dns")).rules ?? [], []);
  await server.stop();
});

async function replace(client: HttpsClient, path: string, object: ApiObject): Promise<void> {
  (await client.put(`${RBAC}/${path}`, object)).expect(200, path);
}
