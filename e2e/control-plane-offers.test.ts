/**
 * What a platform offers with control planes: the worked example of docs/use/control-planes.md as it stands there, each limit,
 * a deletion that waits, and one that waits for nothing inside; on a server whose administrators do not enter.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse, stringify } from "yaml";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { Kubectl, PATIENTLY } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

const VERSION = "tenancy.k8s.io/v1alpha1";
const KIND = `/apis/${VERSION}/controlplanes`;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PLATFORM = "platforms-token";

describe("control planes as a platform offers them", () => {
  const opened: AsyncDisposable[] = [];
  let server: ServerProcess;
  let folder: string;
  /** The header of each client. */
  const authorizations = new Map<HttpsClient, string>();

  before(async () => {
    const made = await makeTempDir("offers");
    opened.push(made);
    folder = made.path;
    const tokens = join(folder, "tokens.csv");
    await writeFile(tokens, `${PLATFORM},the-platform,1\n`);
    server = await startServer({
      flags: [
        ...["--enable-control-planes", "--run-controllers", "--control-plane-root-access=false"],
        `--token-auth-file=${tokens}`,
      ],
    });
    opened.push(server);
  });

  after(async () => {
    for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
  });

  async function make(
    name: string,
    spec: object = {},
    metadata: object = {},
  ): Promise<HttpsClient> {
    const object = {
      apiVersion: VERSION,
      kind: "ControlPlane",
      metadata: { name, ...metadata },
      spec,
    };
    (await server.client.post(KIND, object)).expect(201);
    const answer = (await server.client.post(`${KIND}/${name}/kubeconfig`, {})).expect(201);
    const { status } = answer.object as unknown as { status: { kubeconfig: string } };
    return tenantOf(status.kubeconfig);
  }

  /** Requests to one control plane, by a kubeconfig of it. */
  function tenantOf(kubeconfig: string): HttpsClient {
    const { clusters, users } = parse(kubeconfig) as {
      clusters: { cluster: { server: string } }[];
      users: { user: { token: string } }[];
    };
    const authorization = `Bearer ${users[0]?.user.token}`;
    const { ca } = server.credentials;
    const client = new HttpsClient(clusters[0]?.cluster.server ?? "", { ca }, { authorization });
    opened.push({ [Symbol.asyncDispose]: async () => client.close() });
    authorizations.set(client, authorization);
    return client;
  }

  async function change(name: string, patch: object): Promise<void> {
    const body = JSON.stringify(patch);
    (await server.client.patch(`${KIND}/${name}`, body)).expect(200);
  }

  const map = (name: string, text = "x") => ({ metadata: { name }, data: { text } });

  test("the worked example of the document works as it is written", async () => {
    const page = await readFile("docs/use/control-planes.md", "utf8");
    const block = (word: string) => {
      const found = page.split("```").find((text, index) => index % 2 === 1 && text.includes(word));
      assert.ok(found, word);
      return found.replace(/^\w*\n/, "");
    };
    await using root = await Kubectl.open(server);
    // Without the administrator's certificate, which the server would believe first.
    const { clusters } = parse(await readFile(server.kubeconfig, "utf8")) as { clusters: object[] };
    const user = { name: "platform", user: { token: PLATFORM } };
    const context = { name: "platform", context: { cluster: "", user: "platform" } };
    context.context.cluster = (clusters[0] as { name: string }).name;
    const asPlatform = join(folder, "platform.kubeconfig");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters,
      users: [user],
      contexts: [context],
    };
    await writeFile(asPlatform, stringify({ ...config, "current-context": "platform" }));
    await using own = await Kubectl.open({ kubeconfig: asPlatform });
    const role = await root.run(["create", "-f", "-"], block("kind: ClusterRole\n"));
    assert.equal(role.code, 0, role.stderr);
    const bind = ["create", "clusterrolebinding", "platform", "--clusterrole=platform"];
    assert.equal((await root.run([...bind, "--user=the-platform"])).code, 0);

    const platform = async (args: string[], input?: string) => {
      const result = await own.run(args, input);
      assert.equal(result.code, 0, `${args.join(" ")}: ${result.stderr}`);
      return result.stdout;
    };
    await platform(["create", "-f", "-"], block("kind: ControlPlane\n"));
    const commands = block("kubectl create -f shop.yaml");
    const [, path = "", wish = ""] = /create --raw (\S+) -f - <<< '(.*)'/.exec(commands) ?? [];
    const answer = await platform(["create", "--raw", path, "-f", "-"], wish);
    const { kubeconfig } = (JSON.parse(answer) as { status: { kubeconfig: string } }).status;
    const file = join(folder, "carol.kubeconfig");
    await writeFile(file, kubeconfig);
    await using carol = await Kubectl.open({ kubeconfig: file });
    const [last = ""] = commands.trim().split("\n").slice(-1);
    const made = await carol.run(last.split(" ").slice(3));
    assert.equal(made.code, 0, made.stderr);

    // The root's administrators do not enter what others have made, with this server's flag.
    (await server.client.get("/clusters/shop/api/v1/namespaces/web")).expect(403);
    await platform(["patch", "cp", "shop", "--type=merge", "-p", '{"spec":{"suspended":true}}']);
    await eventually("it is refused", async () => (await carol.run(["get", "ns"])).code !== 0);
    assert.match(await platform(["get", "cp", "shop"]), /shop/);
    await platform(["patch", "cp", "shop", "--type=merge", "-p", '{"spec":{"suspended":false}}']);
    await eventually("it goes on", async () => (await carol.run(["get", "ns", "web"])).code === 0);
    await platform(["delete", "controlplane", "shop", PATIENTLY]);
    assert.equal((await root.run(["get", "cp", "shop"])).code, 1);
  });

  test("spec.limits.bytes refuses writes with 403, and deletions make room", async () => {
    const tenant = await make("bytes", { limits: { bytes: 600_000 } });
    const large = "x".repeat(100_000);
    let refused = "";
    for (let count = 0; refused === "" && count < 8; count++) {
      const answer = await tenant.post(CONFIG_MAPS, map(`large-${count}`, large));
      if (answer.status !== 201) refused = answer.expect(403).text;
    }
    assert.match(refused, /bytes, its limit is 600000/);
    (await tenant.delete(`${CONFIG_MAPS}/large-0`)).expect(200);
    (await tenant.delete(`${CONFIG_MAPS}/large-1`)).expect(200);
    await eventually("there is room", async () => {
      return (await tenant.post(CONFIG_MAPS, map("small"))).status === 201;
    });
  });

  test("spec.limits.watches refuses what is over with 429, and one that ends makes room", async () => {
    const tenant = await make("watches", { limits: { watches: 1 } });
    const ending = new AbortController();
    const path = `${CONFIG_MAPS}?watch=1`;
    await tenant.watch(path, ending.signal);
    const refused = await tenant.get(`${path}&timeoutSeconds=1`);
    assert.match(refused.expect(429).text, /has 1 watches open, its limit is 1/);
    assert.equal(refused.headers["retry-after"], "1");
    (await tenant.get(CONFIG_MAPS)).expect(200);
    ending.abort();
    await eventually("there is room", async () => {
      return (await tenant.get(`${path}&timeoutSeconds=1`)).status === 200;
    });
  });

  test("spec.limits.requests refuses what is over with 429, also for one who is let in, and for nobody else", async () => {
    const tenant = await make("requests", { limits: { requests: 1 } });
    const authorization = authorizations.get(tenant) ?? "";
    // Its body does not come: it is under way until it is given up, unless it came while a look was under way.
    const hold = () => {
      const opened = request(`${tenant.url}${CONFIG_MAPS}`, {
        ...{ method: "POST", ca: server.credentials.ca, agent: false },
        headers: { authorization, "content-type": "application/json", "content-length": "100" },
      });
      opened.on("error", () => {});
      opened.on("response", () => opened.destroy());
      opened.write("{");
      return opened;
    };
    let held = hold();
    const refused = await eventually("the refusal", async () => {
      if (held.destroyed) held = hold();
      const answer = await tenant.get(CONFIG_MAPS);
      return answer.status === 429 && answer;
    });
    assert.match(refused.text, /has 1 requests open, its limit is 1/);
    // Who may not come in learns nothing of it.
    const stranger = { headers: { authorization: `Bearer ${PLATFORM}` } };
    const nobody = new HttpsClient(server.url, { ca: server.credentials.ca });
    (await nobody.request("/clusters/requests/api", stranger)).expect(403);
    nobody.close();
    held.destroy();
    await eventually("there is room", async () => (await tenant.get(CONFIG_MAPS)).status === 200);
    await change("requests", { spec: { limits: { requests: null } } });
  });

  test("a deletion waits for finalizers of the ControlPlane, and for none inside", async () => {
    const finalizer = "example.com/billing";
    const tenant = await make("billed", {}, { finalizers: [finalizer] });
    const held = { metadata: { name: "held", finalizers: ["example.com/never"] } };
    (await tenant.post(CONFIG_MAPS, held)).expect(201);
    (await server.client.delete(`${KIND}/billed`)).expect(200);
    await eventually("the phase", async () => {
      const { text } = await server.client.get(`${KIND}/billed`);
      return /"phase":"Terminating"/.test(text) && /example.com\/billing/.test(text);
    });
    const { object } = (await server.client.get(`${KIND}/billed`)).expect(200);
    const others = object.metadata.finalizers?.filter((name) => name !== finalizer);
    await change("billed", { metadata: { finalizers: others } });
    await eventually("it is gone", async () => {
      return (await server.client.get(`${KIND}/billed`)).status === 404;
    });
  });
});
