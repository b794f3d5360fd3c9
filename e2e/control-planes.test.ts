/**
 * Control planes below the root, each an API of its own at /clusters/NAME: made, used, suspended, limited and deleted
 * against one running server, by its administrator, by users of the root and by users of one control plane.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { definitionOf, versionOf } from "./fixtures/definitions.js";
import { shareApi } from "./fresh-api/running-api.js";
import { eventually } from "./harness/eventually.js";
import { bindingOf, grant } from "./harness/grant.js";
import { type Answer, type ApiObject, HttpsClient } from "./harness/https-client.js";
import { Kubectl } from "./harness/kubectl.js";
import { makeTempDir } from "./harness/temp-dir.js";

const theApi = shareApi({
  controlPlanes: true,
  users: [{ name: "ada" }, { name: "bob" }],
});

const GROUP = "tenancy.k8s.io";
const KIND = `/apis/${GROUP}/v1alpha1/controlplanes`;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** As the root's administrator, or with a token. */
function asker(token?: string): Ask {
  return (method, path, body) => {
    const { api, admin } = theApi();
    if (token === undefined) return admin.request(path, { method, body });
    const client = new HttpsClient(api.url, { ca: api.ca });
    const headers = { authorization: `Bearer ${token}` };
    return client.request(path, { method, body, headers }).finally(() => client.close());
  };
}

const asUser = (name: string) => asker(theApi().api.as(name).token);
const admin = asker();

function controlPlane(name: string, spec: object = {}) {
  return { apiVersion: `${GROUP}/v1alpha1`, kind: "ControlPlane", metadata: { name }, spec };
}

function configMap(name: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { of: name } };
}

function definition(kind: string): object {
  const versions = [versionOf({ type: "object" })];
  return definitionOf(`${kind.toLowerCase()}s.shop.example`, kind, { versions });
}

/** Merged, as the server writes the status meanwhile. */
async function change(name: string, patch: object): Promise<ApiObject> {
  const body = JSON.stringify(patch);
  const path = `${KIND}/${name}`;
  return (await theApi().admin.patch(path, body)).expect(200).object;
}

function names(answer: Answer): string[] {
  return answer.expect(200).items.map(({ metadata }) => metadata.name ?? "");
}

test("a user of the root who may make control planes, and nothing else, makes one", async () => {
  const rules = [{ apiGroups: [GROUP], resources: ["*"], verbs: ["*"] }];
  await grant(theApi().admin, { name: "platform", to: "User ada", rules });
  (await asUser("ada")("POST", KIND, controlPlane("one"))).expect(201);
  (await admin("POST", KIND, controlPlane("other"))).expect(201);
});

test("a control plane has objects, namespaces and definitions of its own, and none of another", async () => {
  for (const plane of ["one", "other"]) {
    const path = `/clusters/${plane}${CONFIG_MAPS}`;
    (await admin("POST", path, configMap(`in-${plane}`))).expect(201);
    (await admin("POST", `/clusters/${plane}${DEFINITIONS}`, definition(plane))).expect(201);
  }
  const foundIn = async (base: string) =>
    names(await admin("GET", base + CONFIG_MAPS)).filter((name) => name.startsWith("in-"));
  assert.deepEqual(await foundIn("/clusters/one"), ["in-one"]);
  assert.deepEqual(await foundIn("/clusters/other"), ["in-other"]);
  assert.deepEqual(await foundIn(""), []);
  const kindsIn = async (base: string) => (await admin("GET", `${base}/apis/shop.example/v1`)).text;
  assert.match(await kindsIn("/clusters/one"), /"ones"/);
  assert.doesNotMatch(await kindsIn("/clusters/one"), /other/);
  assert.match(await kindsIn("/clusters/other"), /"others"/);
  assert.match(await kindsIn(""), /not find the requested resource|NotFound/);
});

test("a watch of one sees its changes, and none of another's", async () => {
  const { admin: client } = theApi();
  const ending = new AbortController();
  const events = await client.watch(`/clusters/one${CONFIG_MAPS}?watch=1`, ending.signal);
  await admin("POST", `/clusters/other${CONFIG_MAPS}`, configMap("unseen"));
  await admin("POST", `/clusters/one${CONFIG_MAPS}`, configMap("seen"));
  for await (const { object } of events) {
    assert.notEqual(object.metadata.name, "unseen");
    if (object.metadata.name === "seen") break;
  }
  ending.abort();
});

test("who makes a control plane administers it, and is nobody in the others and in the root", async () => {
  const ada = asUser("ada");
  (await ada("GET", `/clusters/one${CONFIG_MAPS}`)).expect(200);
  (await ada("GET", `/clusters/other${CONFIG_MAPS}`)).expect(403);
  (await ada("GET", CONFIG_MAPS)).expect(403);
  (await asUser("bob")("GET", `/clusters/one${CONFIG_MAPS}`)).expect(403);
  const forged = controlPlane("forged");
  const annotations = { [`${GROUP}/creator`]: "bob" };
  const made = await admin("POST", KIND, { ...forged, metadata: { name: "forged", annotations } });
  assert.equal(
    made.expect(201).object.metadata.annotations?.[`${GROUP}/creator`],
    "kubernetes-admin",
  );
  const kept = (await change("forged", { metadata: { annotations } })).metadata.annotations;
  assert.equal(kept?.[`${GROUP}/creator`], "kubernetes-admin");
});

test("whether a control plane exists is told to who may get it, and to nobody else", async () => {
  const { api } = theApi();
  const anonymous = new HttpsClient(api.url, { ca: api.ca });
  /** All that a client gets, without what differs in each answer. */
  const seen = ({ status, headers, text }: Answer, name: string) => {
    const { date, "audit-id": _, ...others } = headers;
    return JSON.stringify([status, others, text]).replaceAll(name, "NAME");
  };
  const ways: [string, (path: string) => Promise<Answer>][] = [
    ["401 anonymous", (path) => anonymous.get(path)],
    ["401 unknown token", (path) => asker("nobody's")("GET", path)],
    ["403 a stranger", (path) => asUser("bob")("GET", path)],
  ];
  const paths = ["", "/api", "/apis", "/version", "/healthz", "/openapi/v3", CONFIG_MAPS];
  for (const [what, ask] of ways) {
    for (const path of [...paths, `${CONFIG_MAPS}?watch=1`, "/api/v1/nodes/a/proxy/x"]) {
      const [there, missing] = [
        await ask(`/clusters/one${path}`),
        await ask(`/clusters/two${path}`),
      ];
      assert.equal(seen(there, "one"), seen(missing, "two"), `${what} ${path}`);
      assert.equal(there.status, Number(what.slice(0, 3)), `${what} ${path}`);
    }
  }
  anonymous.close();
  assert.match((await admin("GET", "/clusters/two/api")).expect(404).text, /"two\\" not found/);
});

test("a user of the root comes in by the first binding that names them, or a group of theirs", async () => {
  const bob = asUser("bob");
  (await bob("GET", "/clusters/one/api")).expect(403);
  const path = `/clusters/one${RBAC}/namespaces/default/rolebindings`;
  const binding = (guest: string) => bindingOf("guest", "ClusterRole view", guest);
  // Everybody is in this one: it names nobody.
  (await admin("POST", path, binding("Group system:authenticated"))).expect(201);
  (await bob("GET", "/clusters/one/api")).expect(403);
  (await admin("DELETE", `${path}/guest`)).expect(200);
  (await admin("POST", path, binding("User bob"))).expect(201);
  (await bob("GET", "/clusters/one/api")).expect(200);
  (await bob("GET", `/clusters/one${CONFIG_MAPS}`)).expect(200);
  (await admin("DELETE", `${path}/guest`)).expect(200);
  (await bob("GET", "/clusters/one/api")).expect(403);
});

test("a kubeconfig is of an administrator of one control plane, whose token is worth nothing elsewhere", async () => {
  const spec = { user: "carol", expirationSeconds: 3600 };
  const answer = await asUser("ada")("POST", `${KIND}/one/kubeconfig`, { spec });
  const { status } = answer.expect(201).object as unknown as { status: { kubeconfig: string } };
  const { users, clusters } = parse(status.kubeconfig) as {
    users: { user: { token: string } }[];
    clusters: { cluster: { server: string } }[];
  };
  // It names the server as this client reaches it, whatever address the server advertises.
  assert.equal(clusters[0]?.cluster.server, `${theApi().api.url}/clusters/one`);
  const carol = asker(users[0]?.user.token);
  (await carol("GET", `/clusters/one${CONFIG_MAPS}`)).expect(200);
  (await carol("GET", `/clusters/other${CONFIG_MAPS}`)).expect(401);
  (await carol("GET", CONFIG_MAPS)).expect(401);
  (await asUser("bob")("POST", `${KIND}/one/kubeconfig`, {})).expect(403);
});

test("a kubeconfig is asked for with anything, and that is taken or refused in a sentence", async () => {
  const ask = async (body: unknown) => (await admin("POST", `${KIND}/one/kubeconfig`, body)).status;
  for (const spec of [undefined, null, {}]) assert.equal(await ask({ spec }), 201);
  for (const spec of ["x", 5, []]) assert.equal(await ask({ spec }), 400, JSON.stringify(spec));
  for (const spec of [{ user: null }, { user: 5 }, { user: "A" }, { expirationSeconds: "x" }]) {
    assert.equal(await ask({ spec }), 400, JSON.stringify(spec));
  }
  for (const expirationSeconds of ["3600", [3600], true, 599, 3600.5]) {
    assert.equal(await ask({ spec: { expirationSeconds } }), 400, String(expirationSeconds));
  }
  const tried = { spec: { user: "tried" } };
  (await admin("POST", `${KIND}/one/kubeconfig?dryRun=All`, tried)).expect(400);
  const accounts = "/clusters/one/api/v1/namespaces/kube-system/serviceaccounts";
  (await admin("GET", `${accounts}/tried`)).expect(404);
});

test("a service account of the root is nobody in a control plane", async () => {
  const path = "/api/v1/namespaces/default/serviceaccounts";
  const { metadata } = (await admin("POST", path, { metadata: { name: "robot" } })).object;
  const token = await admin("POST", `${path}/${metadata.name}/token`, { spec: {} });
  const { status } = token.expect(201).object as unknown as { status: { token: string } };
  (await asker(status.token)("GET", `/clusters/one${CONFIG_MAPS}`)).expect(401);
});

test("a proxied pod's links lead through the control plane", async () => {
  const pods = "/clusters/one/api/v1/namespaces/default/pods";
  const spec = { containers: [{ name: "web", image: "web" }], automountServiceAccountToken: false };
  await eventually("a pod can be made, for its account is there", async () => {
    const { status } = await admin("POST", pods, { metadata: { name: "web" }, spec });
    return status === 201;
  });
  const { object } = (await admin("GET", `${pods}/web`)).expect(200);
  const status = { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] };
  (await admin("PUT", `${pods}/web/status`, { ...object, status })).expect(200);
  const { headers } = (await admin("GET", `${pods}/web:80/proxy`)).expect(301);
  assert.equal(headers.location, `${pods}/web:80/proxy/`);
});

test("kubectl works with the path of a control plane as its server", async () => {
  const { api } = theApi();
  await using folder = await makeTempDir("kubeconfig");
  const kubeconfig = join(folder.path, "config");
  await writeFile(kubeconfig, api.kubeconfig.replace(api.url, `${api.url}/clusters/one`));
  await using kubectl = await Kubectl.open({ kubeconfig });
  const made = await kubectl.run(["create", "configmap", "by-kubectl", "--from-literal=a=b"]);
  assert.equal(made.code, 0, made.stderr);
  const found = await kubectl.run(["get", "configmap", "by-kubectl", "-o", "name"]);
  assert.equal(found.stdout.trim(), "configmap/by-kubectl");
  const explained = await kubectl.run(["explain", "configmap.data"]);
  assert.equal(explained.code, 0, explained.stderr);
});

test("the loops of a control plane run: a namespace gets its account, and goes with what is in it", async () => {
  const base = "/clusters/one/api/v1/namespaces";
  (await admin("POST", base, { metadata: { name: "brief" } })).expect(201);
  await eventually("the default account", async () => {
    return (await admin("GET", `${base}/brief/serviceaccounts/default`)).status === 200;
  });
  (await admin("DELETE", `${base}/brief`)).expect(200);
  await eventually("the namespace is gone", async () => {
    return (await admin("GET", `${base}/brief`)).status === 404;
  });
});

test("44: what is cloned is said when a control plane is made, and by nobody later", async () => {
  const of = { apiVersion: `${GROUP}/v1alpha1`, kind: "ControlPlane" };
  // The schema's rule about changes says nothing of an object that had no spec.
  for (const [name, spec] of Object.entries({ "no-spec": undefined, "empty-spec": {} })) {
    (await admin("POST", KIND, { ...of, metadata: { name }, spec })).expect(201);
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { spec: { cloneFrom: { name: "root" } } };
    const patch = { method: "PATCH", headers, body };
    const { status, text } = await theApi().admin.request(`${KIND}/${name}`, patch);
    assert.ok([403, 422].includes(status), `${name}: ${status}`);
    assert.match(text, /cloneFrom cannot be changed/);
  }
});

test("44: limits below what a control plane begins with let it begin, and be read", async () => {
  const limits = { objects: 1, bytes: 1 };
  (await admin("POST", KIND, controlPlane("tiny", { limits }))).expect(201);
  (await admin("GET", `/clusters/tiny${CONFIG_MAPS}`)).expect(200);
  (await admin("POST", `/clusters/tiny${CONFIG_MAPS}`, configMap("more"))).expect(403);
  // Nothing of a review is stored.
  const reviews = "/clusters/tiny/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const resourceAttributes = { verb: "get", resource: "pods" };
  (await admin("POST", reviews, { spec: { resourceAttributes } })).expect(201);
});

test("44: of many creates at once no more are stored than the limit of objects lets in", async () => {
  (await admin("POST", KIND, controlPlane("crowded"))).expect(201);
  const path = `/clusters/crowded${CONFIG_MAPS}`;
  (await admin("POST", path, configMap("first"))).expect(201);
  await change("crowded", { spec: { limits: { objects: 1 } } });
  const { text } = await eventually("the refusal", async () => {
    const answer = await admin("POST", path, configMap("over"));
    return answer.status === 403 && answer;
  });
  const now = Number(/has (\d+) objects/.exec(text)?.[1]);
  await change("crowded", { spec: { limits: { objects: now + 10 } } });
  const all = Array.from({ length: 60 }, (_, at) => admin("POST", path, configMap(`at-${at}`)));
  const made = (await Promise.all(all)).filter(({ status }) => status === 201);
  assert.equal(made.length, 10);
  // Room is there as soon as the answer to a deletion is.
  for (const { object } of made.slice(0, 3)) {
    (await admin("DELETE", `${path}/${object.metadata.name}`)).expect(200);
    (await admin("POST", path, configMap(`again-${object.metadata.name}`))).expect(201);
  }
  (await admin("POST", path, configMap("over"))).expect(403);
});

test("44: a limit of bytes refuses what would be over, and nothing that makes it less", async () => {
  (await admin("POST", KIND, controlPlane("heavy"))).expect(201);
  const path = `/clusters/heavy${CONFIG_MAPS}`;
  const map = (name: string, chars: number) => ({
    ...configMap(name),
    data: { of: "x".repeat(chars) },
  });
  (await admin("POST", path, map("first", 50_000))).expect(201);
  await change("heavy", { spec: { limits: { bytes: 500_000 } } });
  const refused = await eventually("the refusal", async () => {
    const answer = await admin("POST", path, map(`second-${Math.random()}`, 450_000));
    return answer.status === 403 && answer;
  });
  assert.match(refused.text, /its limit is 500000/);
  (await admin("PUT", `${path}/first`, map("first", 60_000))).expect(200);
  await change("heavy", { spec: { limits: { bytes: 1 } } });
  await eventually("the refusal", async () => {
    return (await admin("PUT", `${path}/first`, map("first", 61_000))).status === 403;
  });
  (await admin("PUT", `${path}/first`, map("first", 10))).expect(200);
});

test("44: a limit of bytes holds for whatever makes an object larger, also what is below it", async () => {
  (await admin("POST", KIND, controlPlane("around", { limits: { bytes: 400_000 } }))).expect(201);
  const pods = "/clusters/around/api/v1/namespaces/default/pods";
  const spec = { containers: [{ name: "a", image: "a" }] };
  (await admin("POST", pods, { metadata: { name: "p" }, spec })).expect(201);
  const patch = async (path: string, kind: string, body: object) => {
    const headers = { "content-type": `application/${kind}-patch+json` };
    return await theApi().admin.request(`${pods}/p/${path}`, { method: "PATCH", headers, body });
  };
  const large = "x".repeat(300_000);
  const ephemeralContainers = [{ name: "e", image: "a", args: [large] }];
  const refused = [
    await patch("ephemeralcontainers", "strategic-merge", { spec: { ephemeralContainers } }),
    await patch("status", "merge", { status: { message: large } }),
    await admin("POST", `${pods}/p/binding`, {
      metadata: { name: "p", annotations: { large } },
      target: { kind: "Node", name: "n" },
    }),
  ];
  for (const { status, text } of refused) {
    assert.equal(status, 403, text);
    assert.match(text, /its limit is 400000/);
  }
  const target = { kind: "Node", name: "n" };
  (await admin("POST", `${pods}/p/binding`, { metadata: { name: "p" }, target })).expect(201);
});

test("limits refuse what is over with 403, and say so", async () => {
  const limits = { objects: 1 };
  (await admin("POST", KIND, controlPlane("small", { limits }))).expect(201);
  const refused = await admin("POST", `/clusters/small${CONFIG_MAPS}`, configMap("more"));
  assert.match(refused.expect(403).text, /its limit is 1/);
  await change("small", { spec: { limits: null } });
  await eventually("the limit is off", async () => {
    const answer = await admin("POST", `/clusters/small${CONFIG_MAPS}`, configMap("more"));
    return answer.status === 201;
  });
});

test("a control plane that is suspended is refused, its watches end, and it goes on as it was", async () => {
  const { admin: client } = theApi();
  const path = `/clusters/other${CONFIG_MAPS}`;
  (await admin("POST", path, configMap("kept"))).expect(201);
  const events = await client.watch(`${path}?watch=1`);
  const setSuspended = (suspended: boolean) => change("other", { spec: { suspended } });
  const wish = await admin("POST", `${KIND}/other/kubeconfig`, { spec: { user: "dora" } });
  const token = /token\\?"?: ?\\?"?([\w.-]+)/.exec(wish.expect(201).text)?.[1] ?? "";
  const own = asker(token);
  const forged = `${token.slice(0, -8)}AAAAAAAA`;
  (await own("GET", path)).expect(200);
  const legacy = asker(await legacyToken("other"));
  assert.doesNotMatch((await legacy("GET", path)).expect(403).text, /suspended/);
  await setSuspended(true);
  for await (const _ of events);
  const refused = await eventually("the refusal", async () => {
    const answer = await admin("GET", path);
    return answer.status === 403 && answer;
  });
  assert.match(
    refused.text,
    /"controlplanes.tenancy.k8s.io \\"other\\" is forbidden: the control plane is suspended"/,
  );
  // Its own users are told the same, and who has a token of another one nothing.
  assert.match((await own("GET", path)).expect(403).text, /the control plane is suspended/);
  assert.match((await legacy("GET", path)).expect(403).text, /the control plane is suspended/);
  (await legacy("GET", "/clusters/one/api")).expect(401);
  (await asker(forged)("GET", path)).expect(401);
  (await own("GET", "/clusters/one/api")).expect(401);
  await eventually(
    "the phase",
    async () => phaseOf((await admin("GET", `${KIND}/other`)).object) === "Suspended",
  );
  await setSuspended(false);
  assert.ok(
    names(
      await eventually("it is served", async () => {
        const answer = await admin("GET", path);
        return answer.status === 200 && answer;
      }),
    ).includes("kept"),
  );
});

/** A token without an end, of a Secret of the default account. */
async function legacyToken(name: string): Promise<string> {
  const secrets = `/clusters/${name}/api/v1/namespaces/default/secrets`;
  const annotations = { "kubernetes.io/service-account.name": "default" };
  const metadata = { name: "legacy", annotations };
  const type = "kubernetes.io/service-account-token";
  (await admin("POST", secrets, { metadata, type })).expect(201);
  return await eventually("the token", async () => {
    const { object } = (await admin("GET", `${secrets}/legacy`)).expect(200);
    const { data } = object as unknown as { data?: { token?: string } };
    return data?.token && Buffer.from(data.token, "base64").toString();
  });
}

function phaseOf(object: ApiObject): string | undefined {
  return (object as unknown as { status?: { phase?: string } }).status?.phase;
}

test("a clone begins with what its original had when it was made, and goes its own way", async () => {
  const path = (plane: string) => `/clusters/${plane}${CONFIG_MAPS}`;
  const { uid } = (await admin("POST", path("one"), configMap("copied"))).object.metadata;
  (await admin("POST", KIND, controlPlane("clone", { cloneFrom: { name: "one" } }))).expect(201);
  (await admin("POST", path("one"), configMap("too-late"))).expect(201);
  const copied = await admin("GET", `${path("clone")}/copied`);
  assert.equal(copied.expect(200).object.metadata.uid, uid);
  (await admin("GET", `${path("clone")}/too-late`)).expect(404);
  assert.match((await admin("GET", "/clusters/clone/apis/shop.example/v1")).text, /"ones"/);
  (await admin("DELETE", `${path("clone")}/copied`)).expect(200);
  (await admin("GET", `${path("one")}/copied`)).expect(200);
  // Its administrator is who made it, and not who made the original.
  (await asUser("ada")("GET", path("clone"))).expect(403);
});

test("only who may enter the original may clone it, and only who may do everything the root", async () => {
  const ada = asUser("ada");
  const rules = [{ apiGroups: [GROUP], resources: ["controlplanes"], verbs: ["create"] }];
  await grant(theApi().admin, { name: "maker", to: "User bob", rules });
  const clone = (name: string) => controlPlane("stolen", { cloneFrom: { name } });
  (await asUser("bob")("POST", KIND, clone("one"))).expect(403);
  (await ada("POST", KIND, clone("root"))).expect(403);
  (await ada("POST", `${KIND}?dryRun=All`, clone("one"))).expect(201);
});

test("a clone that cannot be made says why", async () => {
  (await admin("POST", KIND, controlPlane("orphan", { cloneFrom: { name: "nobody" } }))).expect(
    201,
  );
  const failed = await eventually("the phase", async () => {
    const answer = await admin("GET", `${KIND}/orphan`);
    return phaseOf(answer.object) === "Failed" && answer;
  });
  assert.match(failed.text, /"nobody\\" not found/);
  (await admin("GET", "/clusters/orphan/api")).expect(404);
});

test("44: a clone of one that nobody has used begins with what its original begins with", async () => {
  (await admin("POST", KIND, controlPlane("unused"))).expect(201);
  const cloneFrom = { name: "unused" };
  (await admin("POST", KIND, controlPlane("of-unused", { cloneFrom }))).expect(201);
  (await admin("POST", KIND, controlPlane("second", { cloneFrom: { name: "of-unused" } }))).expect(
    201,
  );
  for (const name of ["second", "of-unused", "unused"]) {
    (await admin("GET", `/clusters/${name}/api/v1/namespaces/default`)).expect(200);
  }
});

test("44: a clone that was suspended from the first moment is made when it is not any more", async () => {
  const spec = { cloneFrom: { name: "one" }, suspended: true };
  (await admin("POST", KIND, controlPlane("sleeper", spec))).expect(201);
  await eventually(
    "the phase",
    async () => phaseOf((await admin("GET", `${KIND}/sleeper`)).object) === "Suspended",
  );
  await change("sleeper", { spec: { suspended: false } });
  await eventually("it has been made", async () => {
    const { object } = await admin("GET", `${KIND}/sleeper`);
    return phaseOf(object) === "Ready";
  });
  const path = `/clusters/sleeper/apis/shop.example/v1`;
  assert.match((await admin("GET", path)).expect(200).text, /"ones"/);
});

test("44: what can never be cloned is refused, or says so, and is no internal error", async () => {
  const self = controlPlane("self", { cloneFrom: { name: "self" } });
  assert.match((await admin("POST", KIND, self)).expect(403).text, /cloned from itself/);
  for (const resourceVersion of ["", "0", "-1", "abc", "1e3", "9999999999999999"]) {
    const cloneFrom = { name: "one", resourceVersion };
    (await admin("POST", KIND, controlPlane("odd", { cloneFrom }))).expect(422);
  }
  const never = { early: "1", late: "999999999999" };
  for (const [name, resourceVersion] of Object.entries(never)) {
    const cloneFrom = { name: "one", resourceVersion };
    (await admin("POST", KIND, controlPlane(name, { cloneFrom }))).expect(201);
    (await admin("GET", `/clusters/${name}/api`)).expect(403);
    await eventually("the phase", async () => {
      return phaseOf((await admin("GET", `${KIND}/${name}`)).object) === "Failed";
    });
  }
  // Made one after the other, each to be like the other: neither load waits for the other one.
  for (const [name, other] of [
    ["hen", "egg"],
    ["egg", "hen"],
  ] as const) {
    (await admin("POST", KIND, controlPlane(name, { cloneFrom: { name: other } }))).expect(201);
  }
  (await admin("GET", "/clusters/hen/api")).expect(403);
});

test("a fork of the API of tests has what it has, without its control planes, and goes when it is disposed", async () => {
  const { api } = theApi();
  (await admin("POST", CONFIG_MAPS, configMap("fixture"))).expect(201);
  let name: string;
  {
    await using fork = await api.fork();
    ({ name } = fork);
    (await admin("GET", `/clusters/${name}${CONFIG_MAPS}/fixture`)).expect(200);
    (await admin("GET", `/clusters/${name}${KIND}`)).expect(404);
    await using second = await fork.fork();
    (await admin("GET", `/clusters/${second.name}${CONFIG_MAPS}/fixture`)).expect(200);
  }
  await eventually("the fork is gone", async () => {
    return (await admin("GET", `${KIND}/${name}`)).status === 404;
  });
});

test("44: a fork that cannot be made leaves nothing behind, and an original that is none is told", async () => {
  const { api } = theApi();
  const cloneFrom = "nobody-at-all";
  await assert.rejects(api.controlPlane({ name: "left-behind", cloneFrom }), /not found/);
  await eventually("it is gone", async () => {
    return (await admin("GET", `${KIND}/left-behind`)).status === 404;
  });
  for (const odd of [5, {}, null] as unknown as string[]) {
    await assert.rejects(api.controlPlane({ cloneFrom: odd }), TypeError);
  }
});

test("one that is deleted takes all of it along; the next of its name begins anew", async () => {
  (await admin("POST", KIND, controlPlane("short"))).expect(201);
  const path = `/clusters/short${CONFIG_MAPS}`;
  (await admin("POST", path, configMap("gone"))).expect(201);
  (await admin("DELETE", `${KIND}/short`)).expect(200);
  await eventually("it is gone", async () => (await admin("GET", `${KIND}/short`)).status === 404);
  (await admin("GET", path)).expect(404);
  (await admin("POST", KIND, controlPlane("short"))).expect(201);
  assert.deepEqual(
    names(await admin("GET", path)).filter((name) => name === "gone"),
    [],
  );
});

test("44: what clients know of a control plane that was deleted is not continued in the next of its name", async () => {
  const path = `/clusters/twice${CONFIG_MAPS}`;
  (await admin("POST", KIND, controlPlane("twice"))).expect(201);
  (await admin("POST", path, configMap("first"))).expect(201);
  const { object } = (await admin("GET", `${path}?limit=1`)).expect(200);
  const { continue: token, resourceVersion } = object.metadata as Record<string, string>;
  (await admin("DELETE", `${KIND}/twice`)).expect(200);
  await eventually("it is gone", async () => (await admin("GET", `${KIND}/twice`)).status === 404);
  (await admin("POST", KIND, controlPlane("twice"))).expect(201);
  (await admin("GET", `${path}?limit=1&continue=${token}`)).expect(410);
  const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
  (await admin("GET", `${path}?${exact}`)).expect(410);
  // An informer that went on would hold the objects of the first one for ever.
  const events = await theApi().admin.watch(`${path}?watch=1&resourceVersion=${resourceVersion}`);
  for await (const { type, object: told } of events) {
    assert.deepEqual([type, told.code], ["ERROR", 410]);
    break;
  }
});
