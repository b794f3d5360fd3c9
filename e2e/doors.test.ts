/**
 * The doors of a running server: static tokens, front proxies, bootstrap tokens, client certificates of
 * a bundle, and impersonation, with kubectl where a person would use it.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { eventually } from "./harness/eventually.js";
import { bindingOf } from "./harness/grant.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { LOSES_CHAINS, showsChains } from "./harness/shows-chains.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import {
  ask,
  bearer,
  type Headers,
  REVIEW,
  type UserInfo,
  WHOAMI,
  whoAmI,
} from "./harness/who-am-i.js";
import { startEtcd } from "./tools/etcd.js";

const SECRETS = "/api/v1/namespaces/kube-system/secrets";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
const TOKEN_SECRET = "f395accd246ae52d";
/** Each is a dozen requests. */
const REVOCATIONS = 40;

describe("doors", () => {
  let server: ServerProcess;
  let kubectl: Kubectl;
  let clients: TestAuthority;
  let proxies: TestAuthority;
  let old: TestAuthority;
  let clientCaFile = "";
  let dir: Awaited<ReturnType<typeof makeTempDir>>;
  before(async () => {
    dir = await makeTempDir("doors");
    [clients, proxies] = await Promise.all([
      TestAuthority.create("clients"),
      TestAuthority.create("proxies"),
    ]);
    const second = await TestAuthority.create("second");
    const tokens = await dir.write("tokens.csv", 'token-1,tom,t-1,"dev,ops"\ntoken-2,ann,a-1\n');
    old = await TestAuthority.create("old", { version: 1 });
    const [leaf = ""] = (await clients.issue({ commonName: "no authority" })).cert.split(
      /\n(?=-----B)/,
    );
    clientCaFile = await dir.write(
      "clients.pem",
      [second.certificate, clients.certificate, old.certificate, leaf].join("\n"),
    );
    const proxyCa = await dir.write("proxies.pem", proxies.certificate);
    server = await startServer({
      flags: [
        "--run-controllers",
        // What cluster-info says is where this test can ask.
        "--advertise-address=127.0.0.1",
        `--token-auth-file=${tokens}`,
        `--client-ca-file=${clientCaFile}`,
        `--requestheader-client-ca-file=${proxyCa}`,
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-uid-headers=X-Remote-Uid",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--enable-bootstrap-token-auth",
      ],
    });
    kubectl = await Kubectl.open(server);
  });
  after(async () => {
    await kubectl?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });

  async function createBootstrapToken(id: string, data: Record<string, string> = {}) {
    const stringData = {
      "token-id": id,
      "token-secret": TOKEN_SECRET,
      "usage-bootstrap-authentication": "true",
      ...data,
    };
    const metadata = { name: `bootstrap-token-${id}` };
    const secret = { metadata, type: "bootstrap.kubernetes.io/token", stringData };
    (await server.client.post(SECRETS, secret)).expect(201);
    return `${id}.${TOKEN_SECRET}`;
  }

  test("S2-TOK-01, S2-TOK-05: a static token is its user, a wrong one is 401, none is anonymous", async () => {
    assert.deepEqual(await whoAmI(server, { headers: bearer("token-1") }), {
      username: "tom",
      uid: "t-1",
      groups: ["dev", "ops", "system:authenticated"],
    });
    assert.equal((await whoAmI(server, { headers: bearer("token-2") })).uid, "a-1");
    (await ask(server, "/version", { headers: bearer("wrong") })).expect(401);
    (await ask(server, "/version")).expect(200);
    const who = await kubectl.ok(["auth", "whoami", "--token=token-1", "-o", "json"]);
    // kubectl shows its certificate as well, and the first success decides (S2-REQ-06).
    assert.equal(JSON.parse(who).status.userInfo.username, "kubernetes-admin");
  });

  test("S2-REQ-05: a request is a user's, a service account's or nobody's", async () => {
    assert.equal((await whoAmI(server, { headers: bearer("token-1") })).username, "tom");
    const path = "/api/v1/namespaces/default/serviceaccounts";
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" } };
    (await server.client.post(path, account)).expect(201);
    const issued = (await server.client.post(`${path}/robot/token`, {})).expect(201);
    const { token } = issued.object.status as { token: string };
    const { username } = await whoAmI(server, { headers: bearer(token) });
    assert.equal(username, "system:serviceaccount:default:robot");
    const nobody = (await ask(server, WHOAMI, { body: REVIEW })).expect(403);
    assert.match(String(nobody.object.message), /User "system:anonymous" cannot create/);
  });

  test("S2-REQ-01: who one is comes first, then what one may, and admission and the body last", async () => {
    // Admission answers for a namespace that is not there, the verb for a body that is none.
    const path = "/api/v1/namespaces/none/configmaps";
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const codes = async (token: string | undefined) => {
      const headers = token === undefined ? {} : bearer(token);
      const answers = [
        await ask(server, path, { headers, body: map }),
        await ask(server, path, { headers, body: "{" }),
        await ask(server, "/apis/none/v1/things", { headers, body: map }),
      ];
      return answers.map(({ status }) => status);
    };
    assert.deepEqual(await codes("wrong"), [401, 401, 401]);
    assert.deepEqual(await codes(undefined), [403, 403, 403]);
    assert.deepEqual(await codes("token-1"), [403, 403, 403]);
    const allowed = [
      await server.client.post(path, map),
      await server.client.post(path, "{"),
      await server.client.post("/apis/none/v1/things", map),
    ];
    assert.deepEqual(
      allowed.map(({ status }) => status),
      [404, 400, 404],
    );
    assert.match(String(allowed[0]?.object.message), /^namespaces "none" not found$/);
  });

  test("S2-REQ-07: users and groups are names, not objects", async () => {
    const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for (const path of ["/api", "/apis"]) {
      const { text } = (await server.client.get(path, discovery)).expect(200);
      assert.match(text, /"resource":"serviceaccounts"|"resource":"roles"/);
      assert.doesNotMatch(text, /"(resource|kind|responseKind)":"(users?|groups?)"/i);
    }
    for (const resource of ["users", "groups"]) {
      (await server.client.get(`/api/v1/${resource}`)).expect(404);
    }
  });

  test("S2-TOK-02: the list changes at a restart only", async () => {
    await dir.write("tokens.csv", "token-3,eve,3\n");
    assert.equal((await whoAmI(server, { headers: bearer("token-1") })).username, "tom");
    (await ask(server, "/version", { headers: bearer("token-3") })).expect(401);
  });

  test("S2-X509-01, S2-REQ-06: certificates of each authority of a bundle, alone and with a token", async () => {
    const identity = await clients.issue({ commonName: "carl", organizations: ["crew"] });
    const { username, groups } = await whoAmI(server, { identity });
    assert.deepEqual([username, groups], ["carl", ["crew", "system:authenticated"]]);
    const withToken = await whoAmI(server, { identity, headers: bearer("wrong") });
    assert.equal(withToken.username, "carl");
    const stranger = await (await TestAuthority.create("x")).issue({ commonName: "carl" });
    (await ask(server, "/version", { identity: stranger })).expect(401);
    const tom = await whoAmI(server, { identity: stranger, headers: bearer("token-1") });
    assert.equal(tom.username, "tom");
  });

  test("S2-X509-01, S2-X509-02: intermediates, a root of version 1 and a uid, beside the authority of proxies", async (t) => {
    const carl = await whoAmI(server, {
      identity: await old.issue({ commonName: "carl", uids: ["c-1"] }),
    });
    assert.deepEqual([carl.username, carl.uid], ["carl", "c-1"]);
    const twice = await old.issue({ commonName: "carl", uids: ["c-1", "c-2"] });
    (await ask(server, "/version", { identity: twice })).expect(401);
    const warning = /warn +authorities that cannot be used[^\n]+/.exec(server.logs)?.[0] ?? "";
    assert.ok(warning.includes(clientCaFile), server.logs);
    assert.ok(warning.includes("certificate 4 (CN=no authority) is not an authority"), warning);
    assert.ok(!warning.includes("CN=old"), warning);
    if (!(await showsChains())) return t.skip(LOSES_CHAINS);
    for (const authority of [clients, old]) {
      const lower = await (await authority.createIntermediate("middle")).createIntermediate(
        "lower",
      );
      const jane = await whoAmI(server, { identity: await lower.issue({ commonName: "jane" }) });
      assert.equal(jane.username, "jane");
    }
    const proxy = await (await proxies.createIntermediate("middle")).issue({
      commonName: "front-proxy",
    });
    const pat = await whoAmI(server, { identity: proxy, headers: { "X-Remote-User": "pat" } });
    assert.equal(pat.username, "pat");
  });

  test("S2-PROXY-01..06: a proxy's headers count with its certificate, and with no other", async () => {
    const proxy = await proxies.issue({ commonName: "front-proxy" });
    const headers = {
      "X-Remote-User": "pat",
      "X-Remote-Uid": "p-1",
      "X-Remote-Group": ["a", "b, c"],
      "X-Remote-Extra-Acme.com%2Fproject": "one",
    };
    assert.deepEqual(await whoAmI(server, { identity: proxy, headers }), {
      username: "pat",
      uid: "p-1",
      groups: ["a", "b, c", "system:authenticated"],
      extra: { "acme.com/project": ["one"] },
    });
    const other = await proxies.issue({ commonName: "other" });
    (await ask(server, "/version", { identity: other, headers })).expect(401);
    const carl = await clients.issue({ commonName: "carl" });
    assert.equal((await whoAmI(server, { identity: carl, headers })).username, "carl");
    const masters = { "X-Remote-User": "pat", "X-Remote-Group": "system:masters" };
    (await ask(server, SECRETS, { headers: masters })).expect(403);
  });

  test("S2-PROXY-04: other API servers find what to trust in a ConfigMap", async () => {
    const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    const answer = await eventually("it is there", async () => {
      const found = await server.client.get(path);
      return found.status === 200 ? found : undefined;
    });
    const data = answer.object.data as Record<string, string>;
    assert.equal(data["requestheader-client-ca-file"]?.trim(), proxies.certificate.trim());
    assert.ok(data["client-ca-file"]?.includes(clients.certificate.trim()));
    assert.equal(data["requestheader-allowed-names"], '["front-proxy"]');
    assert.equal(data["requestheader-username-headers"], '["X-Remote-User"]');
  });

  test("S2-IMP-02, S2-IMP-11, S2-SSR-02: kubectl acts as a user with groups and uid", async () => {
    const who = async (...flags: string[]) => {
      const answer = JSON.parse(await kubectl.ok(["auth", "whoami", "-o", "json", ...flags]));
      return answer.status.userInfo as UserInfo;
    };
    assert.deepEqual(await who("--as=jane"), {
      username: "jane",
      groups: ["system:authenticated"],
    });
    const full = ["--as=jane", "--as-group=dev", "--as-group=ops", "--as-uid=7"];
    assert.deepEqual(await who(...full), {
      username: "jane",
      uid: "7",
      groups: ["dev", "ops", "system:authenticated"],
    });
    assert.deepEqual((await who("--as=system:serviceaccount:default:robot")).groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:default",
      "system:authenticated",
    ]);
    // The administrator may; whom he plays may not (S2-IMP-01).
    const refused = await kubectl.fails(["get", "secrets", "--as=jane"]);
    assert.match(refused, /User "jane" cannot list resource "secrets" in API group ""/);
    assert.match(
      await kubectl.fails(["get", "pods", "--as-group=dev"]),
      /without impersonating a user/,
    );
  });

  test("S2-IMP-05..09: roles say who may act as whom, by name, in the whole cluster", async () => {
    const tom = (headers: Headers) =>
      ask(server, WHOAMI, {
        headers: { ...bearer("token-1"), ...headers },
        body: REVIEW,
      });
    const as = { "impersonate-user": "jane" };
    const refused = (await tom(as)).expect(403);
    assert.match(
      String(refused.object.message),
      /^users "jane" is forbidden: User "tom" cannot impersonate resource "users" in API group "" at the cluster scope/,
    );
    const rules = ["--verb=impersonate", "--resource=users", "--resource-name=jane"];
    await kubectl.ok(["create", "clusterrole", "as-jane", ...rules]);
    // Impersonation is no namespace's business (S2-IMP-08).
    await kubectl.ok(["create", "rolebinding", "as-jane", "--clusterrole=as-jane", "--user=tom"]);
    (await tom(as)).expect(403);
    await kubectl.ok([
      "create",
      "clusterrolebinding",
      "as-jane",
      "--clusterrole=as-jane",
      "--user=tom",
    ]);
    (await tom(as)).expect(201);
    (await tom({ "impersonate-user": "joe" })).expect(403);
    (await tom({ ...as, "impersonate-group": "dev" })).expect(403);
    (await tom({ ...as, "impersonate-uid": "7" })).expect(403);
    (await tom({ ...as, "impersonate-extra-acme.com%2fproject": "one" })).expect(403);

    const authentication = { apiGroups: ["authentication.k8s.io"], verbs: ["impersonate"] };
    const role = {
      metadata: { name: "as-more" },
      rules: [
        { apiGroups: [""], resources: ["groups"], verbs: ["impersonate"], resourceNames: ["dev"] },
        { ...authentication, resources: ["uids"], resourceNames: ["7"] },
        { ...authentication, resources: ["userextras/acme.com/project"], resourceNames: ["one"] },
      ],
    };
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    (await server.client.post(roles, role)).expect(201);
    await kubectl.ok([
      "create",
      "clusterrolebinding",
      "as-more",
      "--clusterrole=as-more",
      "--user=tom",
    ]);
    const all = {
      ...as,
      "impersonate-group": "dev",
      "impersonate-uid": "7",
      "impersonate-extra-acme.com%2fproject": "one",
    };
    const answer = (await tom(all)).expect(201);
    assert.deepEqual((answer.object.status as { userInfo: UserInfo }).userInfo, {
      username: "jane",
      uid: "7",
      groups: ["dev", "system:authenticated"],
      extra: { "acme.com/project": ["one"] },
    });
    (await tom({ ...all, "impersonate-extra-acme.com%2fproject": "two" })).expect(403);
    (await tom({ ...all, "impersonate-group": ["dev", "system:masters"] })).expect(403);
    (await tom({ "impersonate-group": "dev" })).expect(400);
    await kubectl.ok(["delete", "clusterrolebinding", "as-jane"]);
    // A revoked binding is void for the very next request.
    (await tom(as)).expect(403);
  });

  test("S2-IMP-12: with the gate a role says what for as well, and only that is served", async () => {
    const authentication = { apiGroups: ["authentication.k8s.io"] };
    const role = {
      metadata: { name: "lists-as-joe" },
      rules: [
        {
          ...authentication,
          resources: ["users"],
          resourceNames: ["joe"],
          verbs: ["impersonate:user-info"],
        },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["impersonate-on:user-info:list"] },
      ],
    };
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    (await server.client.post(roles, role)).expect(201);
    const bind = async (name: string, clusterRole: string, user: string) =>
      await kubectl.ok([
        "create",
        "clusterrolebinding",
        name,
        `--clusterrole=${clusterRole}`,
        `--user=${user}`,
      ]);
    await bind("ann-as-joe", "lists-as-joe", "ann");
    await bind("joe-views", "view", "joe");
    const ann = (path: string) =>
      ask(server, path, { headers: { ...bearer("token-2"), "impersonate-user": "joe" } });
    const list = (await ann(CONFIG_MAPS)).expect(200);
    assert.equal(list.object.kind, "ConfigMapList");
    const get = (await ann(`${CONFIG_MAPS}/x`)).expect(403);
    assert.match(
      String(get.object.message),
      /User "ann" cannot impersonate-on:user-info:get resource "configmaps" in API group ""/,
    );
    // Ann herself may not, nor may joe do what he may not.
    (await ask(server, CONFIG_MAPS, { headers: bearer("token-2") })).expect(403);
    await kubectl.ok(["delete", "clusterrolebinding", "joe-views"]);
    const refused = (await ann(CONFIG_MAPS)).expect(403);
    assert.match(String(refused.object.message), /User "joe" cannot list resource "configmaps"/);
  });

  test("S2-BOOT-04: a token may say what it is for, which nobody but people reads", async () => {
    const description = "for the new rack, größer";
    const token = await createBootstrapToken("dddddd", { description });
    const secret = (await server.client.get(`${SECRETS}/bootstrap-token-dddddd`)).expect(200);
    const data = secret.object.data as Record<string, string>;
    assert.equal(Buffer.from(data.description ?? "", "base64").toString(), description);
    assert.deepEqual(await whoAmI(server, { headers: bearer(token) }), {
      username: "system:bootstrap:dddddd",
      groups: ["system:bootstrappers", "system:authenticated"],
    });
  });

  test("S2-BOOT-05..11: a machine logs in with a bootstrap token, until it is over", async () => {
    const groups = "system:bootstrappers:workers";
    const token = await createBootstrapToken("aaaaaa", { "auth-extra-groups": groups });
    assert.deepEqual(await whoAmI(server, { headers: bearer(token) }), {
      username: "system:bootstrap:aaaaaa",
      groups: ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"],
    });
    // kubectl as such a machine runs it: a token, no certificate.
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "c",
          cluster: {
            server: server.url,
            "certificate-authority-data": Buffer.from(server.credentials.ca).toString("base64"),
          },
        },
      ],
      users: [{ name: "u", user: { token } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    };
    const kubeconfig = await dir.write("bootstrap.kubeconfig", JSON.stringify(config));
    await using machine = await Kubectl.open({ kubeconfig });
    assert.match(await machine.ok(["auth", "whoami"]), /system:bootstrap:aaaaaa/);
    (
      await ask(server, WHOAMI, { headers: bearer("aaaaaa.0000000000000000"), body: REVIEW })
    ).expect(401);
    const review = { spec: { token } };
    const reviewed = await server.client.post(
      "/apis/authentication.k8s.io/v1/tokenreviews",
      review,
    );
    const status = reviewed.expect(201).object.status as { user: UserInfo };
    assert.equal(status.user.username, "system:bootstrap:aaaaaa");

    (await server.client.delete(`${SECRETS}/bootstrap-token-aaaaaa`)).expect(200);
    (await ask(server, WHOAMI, { headers: bearer(token), body: REVIEW })).expect(401);
    const over = await createBootstrapToken("bbbbbb", { expiration: "2020-01-01T00:00:00Z" });
    (await ask(server, WHOAMI, { headers: bearer(over), body: REVIEW })).expect(401);
    await eventually(
      "the cleaner takes what is over",
      async () => (await server.client.get(`${SECRETS}/bootstrap-token-bbbbbb`)).status === 404,
    );
  });

  test("S2-BOOT-13..16: anybody may read cluster-info, which the holder of a token can verify", async () => {
    const token = await createBootstrapToken("cccccc", { "usage-bootstrap-signing": "true" });
    const data = await eventually("it is signed", async () => {
      const answer = (await ask(server, CLUSTER_INFO)).expect(200);
      const found = answer.object.data as Record<string, string>;
      return "jws-kubeconfig-cccccc" in found ? found : undefined;
    });
    const { kubeconfig = "", "jws-kubeconfig-cccccc": signature = "" } = data;
    const { cluster } = parse(kubeconfig).clusters[0];
    assert.equal(cluster.server, server.url);
    const authority = Buffer.from(cluster["certificate-authority-data"], "base64").toString();
    assert.equal(authority, server.credentials.ca);
    const [header = "", mac] = signature.split("..");
    assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), {
      alg: "HS256",
      kid: "cccccc",
    });
    const signed = `${header}.${Buffer.from(kubeconfig).toString("base64url")}`;
    assert.equal(mac, createHmac("sha256", token).update(signed).digest("base64url"));
    // Nothing else of the namespace is for everybody.
    (await ask(server, "/api/v1/namespaces/kube-public/configmaps")).expect(403);
    (await server.client.delete(`${SECRETS}/bootstrap-token-cccccc`)).expect(200);
    await eventually("its signature goes with the token", async () => {
      const found = (await ask(server, CLUSTER_INFO)).expect(200).object.data as object;
      return !("jws-kubeconfig-cccccc" in found);
    });
  });

  test("S2-X509-04: a bundle that is rotated counts without a restart, one that is half written does not", async () => {
    const carl = await clients.issue({ commonName: "carl" });
    const next = await TestAuthority.create("next");
    const nora = await next.issue({ commonName: "nora" });
    (await ask(server, "/version", { identity: nora })).expect(401);
    const bundle = await dir.write("clients.pem", "");
    await eventually("the empty bundle is refused", () =>
      /last good ones stay.*a file is empty/.test(server.logs),
    );
    assert.equal((await whoAmI(server, { identity: carl })).username, "carl");
    await writeFile(bundle, next.certificate);
    await eventually(
      "the new authority counts",
      async () => (await ask(server, "/version", { identity: nora })).status === 200,
    );
    (await ask(server, "/version", { identity: carl })).expect(401);
  });

  test("nothing secret is in the logs", () => {
    for (const secret of ["token-1", "token-2", TOKEN_SECRET]) {
      assert.ok(!server.logs.includes(secret), secret);
    }
  });
});

describe("doors of several replicas", () => {
  test("S2-BOOT-11, S2-IMP-01: what is revoked on one replica is void on the other for the next request", async () => {
    const etcd = await startEtcd();
    try {
      const flags = ["--enable-bootstrap-token-auth"];
      const start = () => startServer({ etcdEndpoints: [etcd.endpoint], flags });
      await using one = await start();
      await using other = await start();
      const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
      const role = {
        metadata: { name: "as-jane" },
        rules: [
          {
            apiGroups: [""],
            resources: ["users"],
            resourceNames: ["jane"],
            verbs: ["impersonate"],
          },
        ],
      };
      const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
      (await one.client.post(roles, role)).expect(201);
      for (let round = 0; round < REVOCATIONS; round++) {
        const id = `r${String(round).padStart(5, "0")}`;
        const name = `bootstrap-token-${id}`;
        const secret = {
          metadata: { name },
          type: "bootstrap.kubernetes.io/token",
          stringData: {
            "token-id": id,
            "token-secret": TOKEN_SECRET,
            "usage-bootstrap-authentication": "true",
          },
        };
        const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
        const headers = bearer(`${id}.${TOKEN_SECRET}`);
        const as = { ...headers, "impersonate-user": "jane" };
        const binding = bindingOf(name, "ClusterRole as-jane", `User system:bootstrap:${id}`);
        (await here.client.post(SECRETS, secret)).expect(201);
        assert.equal((await whoAmI(there, { headers })).username, `system:bootstrap:${id}`);
        (await here.client.post(bindings, binding)).expect(201);
        assert.equal((await whoAmI(there, { headers: as })).username, "jane");
        (await here.client.delete(`${bindings}/${name}`)).expect(200);
        (await ask(there, WHOAMI, { headers: as, body: REVIEW })).expect(403);
        (await here.client.delete(`${SECRETS}/${name}`)).expect(200);
        (await ask(there, WHOAMI, { headers, body: REVIEW })).expect(401);
        (await ask(there, SECRETS, { headers })).expect(401);
      }
    } finally {
      await etcd.stop();
    }
  });
});
