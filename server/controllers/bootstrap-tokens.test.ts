/** The loops of bootstrap tokens: expiry, and signatures for joining machines. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { parse } from "yaml";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import type { ApiObject } from "../api/meta.js";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { runBootstrapSigner } from "./bootstrap-signer.js";
import { ensureClusterInfo } from "./cluster-info.js";
import { isControllerEnabled, unknownController } from "./controller-names.js";
import { isSignedBy, signDetached } from "./detached-jws.js";
import { createLocalObjects } from "./local-objects.js";
import { ensureSystemNamespaces } from "./system-namespaces.js";
import { untilObject } from "./testing/until-object.js";
import { runTokenCleaner } from "./token-cleaner.js";

const harness = await openRegistryHarness();
const { naming } = harness.registry;
const objects = createLocalObjects(harness.registry);
await ensureSystemNamespaces(objects, naming, noSignal);
await objects.refresh();
const secrets = objects.resource("", "secrets");
const configMaps = objects.resource("", "configmaps");

after(async () => {
  await harness[Symbol.asyncDispose]();
});

async function createToken(id: string, data: Record<string, string>, type?: string) {
  const encoded = Object.entries({ "token-id": id, "token-secret": "f395accd246ae52d", ...data });
  const secret: ApiObject = {
    kind: "Secret",
    apiVersion: "v1",
    metadata: { namespace: naming.systemNamespace, name: `bootstrap-token-${id}` },
    type: type ?? "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(
      encoded.map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    ),
  };
  await objects.create(secrets, secret, noSignal);
}

const placeOf = (id: string) => ({
  namespace: naming.systemNamespace,
  name: `bootstrap-token-${id}`,
});

/** Runs a loop in the background until the scope ends. */
function inBackground(start: (signal: AbortSignal) => Promise<void>): AsyncDisposable {
  const stop = new AbortController();
  const running = start(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test("S2-BOOT-12, S2-BOOT-11: tokens are deleted when their time is up, nothing else is", async () => {
  const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
  await createToken("000001", { expiration: "2029-12-31T23:59:59Z" });
  await createToken("000002", { expiration: "2030-01-01T00:00:10Z" });
  await createToken("000003", { expiration: "2040-01-01T00:00:00Z" });
  await createToken("000004", {});
  await createToken("000005", { expiration: "whenever" });
  await createToken("000006", { expiration: "2000-01-01T00:00:00Z" }, "Opaque");
  const parts = { objects, naming, clock, logger: silentLogger };
  await using _cleaner = inBackground((signal) => runTokenCleaner(parts, signal));
  const until = (id: string) =>
    untilObject(harness.registry, objects, secrets, placeOf(id), (found) => found === undefined);
  await until("000001");
  await until("000005");
  assert.ok(objects.get(secrets, placeOf("000002")) !== undefined);
  await clock.untilAsleep();
  await clock.advanceInSteps(9_500);
  assert.ok(objects.get(secrets, placeOf("000002")) !== undefined);
  clock.advance(600);
  await until("000002");
  await settle();
  for (const id of ["000003", "000004", "000006"]) {
    assert.ok(objects.get(secrets, placeOf(id)) !== undefined, id);
  }
  // A later token is noticed too.
  await createToken("000007", { expiration: "2030-01-01T00:00:00Z" });
  await until("000007");
});

describe("cluster-info", () => {
  const place = { namespace: naming.publicNamespace, name: "cluster-info" };
  const info = { server: "https://api.example:6443", authority: "PEM" };
  const until = (isRight: (data: Record<string, string>) => boolean) =>
    untilObject(harness.registry, objects, configMaps, place, (object) =>
      isRight((object?.data ?? {}) as Record<string, string>),
    );

  test("S2-BOOT-13: it names server and authority, and anonymous users may get it", async () => {
    await ensureClusterInfo(objects, naming, info, noSignal);
    await objects.refresh();
    const made = objects.get(configMaps, place);
    const { kubeconfig = "" } = (made?.data ?? {}) as Record<string, string>;
    assert.deepEqual(parse(kubeconfig), {
      apiVersion: "v1",
      clusters: [
        {
          cluster: { "certificate-authority-data": "UEVN", server: "https://api.example:6443" },
          name: "",
        },
      ],
      contexts: null,
      "current-context": "",
      kind: "Config",
      users: null,
    });
    const rbac = "rbac.authorization.k8s.io";
    const [role] = objects.list(objects.resource(rbac, "roles"), naming.publicNamespace);
    const [binding] = objects.list(objects.resource(rbac, "rolebindings"), naming.publicNamespace);
    assert.deepEqual(role?.rules, [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["cluster-info"],
        verbs: ["get"],
      },
    ]);
    assert.deepEqual(binding?.subjects, [
      { apiGroup: rbac, kind: "User", name: "system:anonymous" },
    ]);
    // Existing contents stay, even if another replica has another address.
    await ensureClusterInfo(objects, naming, { ...info, server: "https://other" }, noSignal);
    await objects.refresh();
    assert.deepEqual(objects.get(configMaps, place), made);
  });

  test("S2-BOOT-14, S2-BOOT-06: every token that may sign has its key, as long as it may", async () => {
    const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
    const signs = { "usage-bootstrap-signing": "true" };
    await createToken("aaaaaa", { ...signs, expiration: "2030-01-01T00:00:10Z" });
    await createToken("bbbbbb", { "usage-bootstrap-authentication": "true" });
    await createToken("cccccc", { ...signs, expiration: "2029-01-01T00:00:00Z" });
    const parts = { objects, naming, clock, logger: silentLogger };
    await using _signer = inBackground((signal) => runBootstrapSigner(parts, signal));
    const keys = (...ids: string[]) =>
      ["kubeconfig", ...ids.map((id) => `jws-kubeconfig-${id}`)].sort();
    const untilKeys = async (...ids: string[]) => {
      const wanted = keys(...ids).join();
      return (await until((data) => Object.keys(data).sort().join() === wanted))?.data as Record<
        string,
        string
      >;
    };
    const data = await untilKeys("aaaaaa");
    const { kubeconfig = "", "jws-kubeconfig-aaaaaa": signature = "" } = data;
    assert.ok(isSignedBy(signature, kubeconfig, "aaaaaa", "aaaaaa.f395accd246ae52d"));
    await createToken("dddddd", signs);
    await untilKeys("aaaaaa", "dddddd");
    await clock.untilAsleep();
    clock.advance(10_000);
    await untilKeys("dddddd");
    // Changed contents are signed again; a forged signature is removed.
    const current = objects.get(configMaps, place) as ApiObject;
    const forged = { kubeconfig: "changed", "jws-kubeconfig-eeeeee": "x..y" };
    await objects.update(configMaps, { ...current, data: forged }, "", noSignal);
    const again = await untilKeys("dddddd");
    assert.equal(again.kubeconfig, "changed");
    const options = { propagationPolicy: "Background" } as const;
    await objects.remove(secrets, placeOf("dddddd"), options, noSignal);
    await untilKeys();
  });
});

describe("detached signatures", () => {
  const content = "Hello from the other side. I must have called a thousand times.";

  test("S2-BOOT-15: header and signature in base64url without padding, nothing in between", () => {
    // The existing system's own example; the key is used as given.
    const key = "my voice is my passcode";
    const known =
      "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8";
    assert.equal(signDetached(content, "joshua", key), known);
    assert.ok(isSignedBy(known, content, "joshua", key));
  });

  test("S2-BOOT-16: only HS256 with this token over this content is accepted", () => {
    const token = "07401b.f395accd246ae52d";
    const good = signDetached(content, "07401b", token);
    const [header = "", mac = ""] = good.split("..");
    const check = (signature: string) => isSignedBy(signature, content, "07401b", token);
    const withHeader = (value: object) => {
      const encoded = Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${encoded}..${signDetached(content, "07401b", token).split("..")[1]}`;
    };
    assert.ok(check(good));
    assert.ok(!isSignedBy(good, `${content}.`, "07401b", token));
    assert.ok(!isSignedBy(good, content, "07401c", token));
    assert.ok(!isSignedBy(good, content, "07401b", "07401b.f395accd246ae52e"));
    // Half a token does not verify.
    assert.ok(!isSignedBy(good, content, "07401b", "f395accd246ae52d"));
    const bad = [
      "",
      "..",
      `${header}..`,
      `${header}.eA.${mac}`,
      `${good}.x`,
      `${good}=`,
      withHeader({ alg: "none", kid: "07401b" }),
      withHeader({ alg: "HS512", kid: "07401b" }),
      withHeader({ kid: "07401b" }),
      withHeader({ alg: "HS256", kid: "07401b", crit: ["b64"] }),
      withHeader([]),
      `bm90IGpzb24..${mac}`,
    ];
    for (const signature of bad) assert.ok(!check(signature), signature);
  });
});

test("S2-BOOT-12: loops are named in --controllers, by both of their names", () => {
  const isOn = (...list: string[]) => isControllerEnabled("tokencleaner", list);
  assert.ok(isOn("*"));
  assert.ok(isOn("tokencleaner"));
  assert.ok(isOn("-bootstrapsigner", "token-cleaner-controller"));
  assert.ok(isOn("tokencleaner", "-tokencleaner"));
  for (const list of [
    [],
    ["bootstrapsigner"],
    ["*", "-tokencleaner"],
    ["-token-cleaner-controller", "*"],
  ]) {
    assert.ok(!isOn(...list), list.join());
  }
  assert.equal(unknownController(["*", "-tokencleaner", "bootstrap-signer-controller"]), undefined);
  assert.equal(unknownController(["*", "-tokencleaners"]), "-tokencleaners");
  assert.equal(unknownController(["-*"]), "-*");
});
