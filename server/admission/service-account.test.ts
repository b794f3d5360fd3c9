/** The ServiceAccount plugin: fields it sets on pods, and pods it refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { FakeView } from "../authn/service-account/testing/account-fixtures.js";
import { createUser } from "../request/user-info.js";
import type { AdmissionAttributes } from "./admission.js";
import { ServiceAccountAdmission } from "./service-account.js";
import type { PodObject, PodSpec } from "./token-volume.js";

const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const noSignal = new AbortController().signal;

function open(vendor = "kubernetes") {
  const view = new FakeView();
  const clock = new ManualClock();
  let refreshes = 0;
  const plugin = new ServiceAccountAdmission({
    view: view.asView,
    fresh: async () => {
      refreshes++;
    },
    naming: createNaming(vendor),
    clock,
  });
  return { view, clock, plugin, refreshes: () => refreshes };
}

function putAccount(view: FakeView, name = "default", rest: object = {}): void {
  view.put("serviceaccounts", "shop", name, `u-${name}`, rest);
}

function creation(spec: PodSpec, annotations?: Record<string, string>) {
  const metadata = { name: "web", ...(annotations === undefined ? {} : { annotations }) };
  const pod: PodObject = { kind: "Pod", apiVersion: "v1", metadata, spec };
  const attributes: AdmissionAttributes = {
    operation: "CREATE",
    resource: { group: "", version: "v1", resource: "pods", kind: "Pod" },
    subresource: "",
    namespace: "shop",
    name: "web",
    object: pod,
    oldObject: undefined,
    options: { isDryRun: false },
    user: createUser({ name: "u" }),
    warn() {},
  };
  return { pod, attributes };
}

async function admit(plugin: ServiceAccountAdmission, spec: PodSpec, annotations?: object) {
  const { pod, attributes } = creation(spec, annotations as Record<string, string> | undefined);
  const isChanged = await plugin.mutate(attributes, noSignal);
  await plugin.validate(attributes, noSignal);
  return { spec: pod.spec, isChanged };
}

async function refused(message: string, admitting: Promise<unknown>): Promise<void> {
  await assert.rejects(admitting, (error) => {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.code, 403);
    assert.equal(error.message, `pods "web" is forbidden: ${message}`);
    return true;
  });
}

test("it concerns pods that are created, and containers that are added to them", () => {
  const { plugin } = open();
  const pods = { group: "", version: "v1", resource: "pods", kind: "Pod" };
  assert.equal(plugin.handles("CREATE", pods, ""), true);
  assert.equal(plugin.handles("UPDATE", pods, "ephemeralcontainers"), true);
  assert.equal(plugin.handles("UPDATE", pods, ""), false);
  assert.equal(plugin.handles("CREATE", pods, "eviction"), false);
  assert.equal(plugin.handles("CREATE", { ...pods, group: "x" }, ""), false);
});

test("S2-REQ-08: a pod runs as the default account and finds a token of it in every container", async () => {
  const { view, plugin } = open();
  putAccount(view);
  const { spec, isChanged } = await admit(plugin, {
    volumes: [{ name: "data", emptyDir: {} }],
    initContainers: [{ name: "i" }],
    containers: [
      { name: "a", volumeMounts: [{ name: "data", mountPath: "/data" }] },
      { name: "b", volumeMounts: [{ name: "data", mountPath: MOUNT_PATH }] },
    ],
  });
  assert.equal(isChanged, true);
  const name = spec.volumes?.[1]?.name ?? "";
  assert.match(name, /^kube-api-access-[a-z0-9]{5}$/);
  const mount = { name, readOnly: true, mountPath: MOUNT_PATH };
  assert.deepEqual(spec, {
    serviceAccountName: "default",
    serviceAccount: "default",
    volumes: [
      { name: "data", emptyDir: {} },
      {
        name,
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
            { configMap: { items: [{ key: "ca.crt", path: "ca.crt" }], name: "kube-root-ca.crt" } },
            {
              downwardAPI: {
                items: [
                  {
                    fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" },
                    path: "namespace",
                  },
                ],
              },
            },
          ],
          defaultMode: 420,
        },
      },
    ],
    initContainers: [{ name: "i", volumeMounts: [mount] }],
    containers: [
      { name: "a", volumeMounts: [{ name: "data", mountPath: "/data" }, mount] },
      { name: "b", volumeMounts: [{ name: "data", mountPath: MOUNT_PATH }] },
    ],
  });
});

test("a second round, or a pod that was copied from another, gets no second volume", async () => {
  const { view, plugin } = open("acme");
  putAccount(view);
  const first = await admit(plugin, { containers: [{ name: "a" }] });
  assert.match(first.spec.volumes?.[0]?.name ?? "", /^acme-api-access-/);
  assert.equal(
    first.spec.containers?.[0]?.volumeMounts?.[0]?.mountPath,
    "/var/run/secrets/acme.io/serviceaccount",
  );
  const before = structuredClone(first.spec);
  const second = await admit(plugin, first.spec);
  assert.equal(second.isChanged, false);
  assert.deepEqual(second.spec, before);
  second.spec.containers?.push({ name: "sidecar" });
  const third = await admit(plugin, second.spec);
  assert.equal(third.spec.volumes?.length, 1);
  assert.equal(third.spec.containers?.[1]?.volumeMounts?.length, 1);
});

test("automountServiceAccountToken: the pod's word counts, then the account's", async () => {
  const { view, plugin } = open();
  const volumes = async (pod: boolean | undefined, account: boolean | undefined) => {
    putAccount(view, "web", account === undefined ? {} : { automountServiceAccountToken: account });
    const { spec } = await admit(plugin, {
      serviceAccountName: "web",
      containers: [{ name: "a" }],
      ...(pod === undefined ? {} : { automountServiceAccountToken: pod }),
    });
    return spec.volumes?.length ?? 0;
  };
  assert.equal(await volumes(undefined, undefined), 1);
  assert.equal(await volumes(undefined, false), 0);
  assert.equal(await volumes(true, false), 1);
  assert.equal(await volumes(false, true), 0);
});

test("a pod without pull secrets gets its account's", async () => {
  const { view, plugin } = open();
  putAccount(view, "default", { imagePullSecrets: [{ name: "registry" }] });
  const own = await admit(plugin, { imagePullSecrets: [{ name: "mine" }] });
  assert.deepEqual(own.spec.imagePullSecrets, [{ name: "mine" }]);
  const given = await admit(plugin, {});
  assert.deepEqual(given.spec.imagePullSecrets, [{ name: "registry" }]);
});

test("a pod of an account that is not there is refused, on a fresh look", async () => {
  const { view, plugin, refreshes } = open();
  await refused(
    'error looking up service account shop/none: serviceaccount "none" not found',
    admit(plugin, { serviceAccountName: "none" }),
  );
  assert.equal(refreshes(), 1);
  view.putCorrupt("serviceaccounts", "shop", "none");
  await refused(
    'error looking up service account shop/none: serviceaccount "none" not found',
    admit(plugin, { serviceAccount: "none" }),
  );
});

test("a pod in a new namespace waits a moment for the default account", async () => {
  const { view, clock, plugin } = open();
  const waiting = admit(plugin, {});
  await clock.untilAsleep();
  clock.advance(150);
  await clock.untilAsleep();
  putAccount(view);
  clock.advance(150);
  assert.equal((await waiting).spec.serviceAccountName, "default");

  view.delete("serviceaccounts", "shop", "default");
  const lost = refused(
    'error looking up service account shop/default: serviceaccount "default" not found',
    admit(plugin, {}),
  );
  for (let attempt = 0; attempt < 10; attempt++) {
    await settle();
    clock.advance(150);
  }
  await lost;
});

test("a mirror pod is left as it is, and has neither account nor secrets nor tokens", async () => {
  const { view, plugin } = open();
  putAccount(view);
  const mirror = { "kubernetes.io/config.mirror": "x" };
  const left = await admit(plugin, { containers: [{ name: "a" }] }, mirror);
  assert.deepEqual(left, { spec: { containers: [{ name: "a" }] }, isChanged: false });
  const why = "a mirror pod may not reference";
  await refused(
    `${why} service accounts`,
    admit(plugin, { serviceAccountName: "default" }, mirror),
  );
  for (const spec of [
    { volumes: [{ name: "v", secret: { secretName: "s" } }] },
    { volumes: [{ name: "v", projected: { sources: [{ secret: { name: "s" } }] } }] },
    { volumes: [{ name: "v", csi: { nodePublishSecretRef: { name: "s" } } }] },
    { containers: [{ name: "a", envFrom: [{ secretRef: { name: "s" } }] }] },
    { imagePullSecrets: [{ name: "s" }] },
  ] as PodSpec[]) {
    await refused(`${why} secrets`, admit(plugin, spec, mirror));
  }
  await refused(
    "a mirror pod may not use ServiceAccountToken volume projections",
    admit(
      plugin,
      { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: {} }] } }] },
      mirror,
    ),
  );
});

test("CVE-2023-2728, CVE-2024-3177: an account may limit its pods to the Secrets that it names", async () => {
  const { view, plugin } = open();
  putAccount(view, "default", {
    metadata: { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } },
    secrets: [{ name: "own" }],
    imagePullSecrets: [{ name: "registry" }],
  });
  const why = "is not allowed because service account default does not reference that";
  const env = (name: string) => [{ name: "V", valueFrom: { secretKeyRef: { name } } }];
  await admit(plugin, {
    volumes: [{ name: "v", secret: { secretName: "own" } }],
    containers: [{ name: "a", env: env("own"), envFrom: [{ secretRef: { name: "own" } }] }],
    imagePullSecrets: [{ name: "registry" }],
  });
  await refused(
    `volume with secret.secretName="x" ${why} secret`,
    admit(plugin, { volumes: [{ name: "v", secret: { secretName: "x" } }] }),
  );
  await refused(
    `init container i with envVar V referencing secret.secretName="x" ${why} secret`,
    admit(plugin, { initContainers: [{ name: "i", env: env("x") }] }),
  );
  await refused(
    `container a with envFrom referencing secret.secretName="x" ${why} secret`,
    admit(plugin, { containers: [{ name: "a", envFrom: [{ secretRef: { name: "x" } }] }] }),
  );
  await refused(
    `imagePullSecrets[1].name="own" ${why} imagePullSecret`,
    admit(plugin, { imagePullSecrets: [{ name: "registry" }, { name: "own" }] }),
  );

  const { pod, attributes } = creation({
    serviceAccountName: "default",
    ephemeralContainers: [{ name: "e", env: env("x") }],
  });
  const update = { ...attributes, operation: "UPDATE" as const, oldObject: pod };
  assert.equal(await plugin.mutate(update, noSignal), false);
  await refused(
    `ephemeral container e with envVar V referencing secret.secretName="x" ${why} secret`,
    (async () => plugin.validate(update, noSignal))(),
  );
});
