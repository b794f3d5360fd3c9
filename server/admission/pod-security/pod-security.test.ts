/** The Pod Security Standards, check by check, and their enforcement by namespace. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import type { Registry } from "../../registry/registry.js";
import { plainWrites } from "../../registry/testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../../registry/testing/registry-harness.js";
import { createObject } from "../../registry/write/create.js";
import { patchObject } from "../../registry/write/update.js";
import { createUser } from "../../request/user-info.js";
import { AdmissionChain } from "../chain.js";
import type { PodSpec } from "./pod-parts.js";
import { PodSecurity } from "./pod-security.js";
import { describeFindings, evaluatePod, type Level } from "./standards.js";

const harness = await openRegistryHarness();
const { view, naming } = harness.registry;
const registry: Registry = {
  ...harness.registry,
  admission: new AdmissionChain([new PodSecurity(view, naming)]),
};

const writes = plainWrites(harness, { on: registry });

before(async () => {
  const levels = { baseline: "baseline", restricted: "restricted", old: "restricted" };
  for (const [name, enforce] of Object.entries(levels)) {
    const version = name === "old" ? { "pod-security.kubernetes.io/enforce-version": "v1.7" } : {};
    await createNamespace(name, { "pod-security.kubernetes.io/enforce": enforce, ...version });
  }
  await createNamespace("warns", { "pod-security.kubernetes.io/warn": "restricted" });
  await createNamespace("open", {});
});
after(() => harness[Symbol.asyncDispose]());

/** @returns the warnings */
async function create(group: string, resource: string, value: JsonObject, namespace = "") {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  await writes.create(group, resource, value, { namespace, warn });
  return warnings;
}

function createNamespace(name: string, labels: JsonObject) {
  return create("", "namespaces", { metadata: { name, labels } });
}

const pod = (name: string, spec: JsonObject = {}): JsonObject => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

/** @returns the warnings */
async function label(name: string, labels: JsonObject): Promise<string[]> {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  await writes.merge("", "namespaces", name, { metadata: { labels } }, { warn });
  return warnings;
}

/** The violations of a pod whose only container, "a", has these fields. */
function findings(level: Level, container: object, spec: PodSpec = {}, minor = Infinity): string {
  const parts = {
    spec: { containers: [{ name: "a", ...container }], ...spec },
    annotations: {},
    labelDomain: "kubernetes.io",
  };
  return describeFindings(evaluatePod({ level, minor }, parts));
}

/** A container that meets the strictest standard. */
const HARDENED = {
  securityContext: {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  },
};

/** What the audit record of a create gets. */
async function notesOf(group: string, resource: string, value: JsonObject, namespace: string) {
  const notes: Record<string, string> = {};
  const annotate = (key: string, text: string) => {
    notes[key] = text;
  };
  const where = { namespace, remarks: { annotate } };
  await writes.create(group, resource, value, where).catch(() => {});
  return notes;
}

test("S2-REQ-09: audit records say which standard was enforced and which one would have been violated", async () => {
  const prefix = "pod-security.kubernetes.io";
  await createNamespace("noted", {
    [`${prefix}/enforce`]: "baseline",
    [`${prefix}/enforce-version`]: "v1.30",
    [`${prefix}/audit`]: "restricted",
  });
  const enforced = { [`${prefix}/enforce-policy`]: "baseline:v1.30" };

  const plain = await notesOf("", "pods", pod("plain"), "noted");
  const { [`${prefix}/audit-violations`]: violations = "", ...others } = plain;
  assert.deepEqual(others, enforced);
  assert.match(
    violations,
    /^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false \(/,
  );
  const refused = await notesOf("", "pods", pod("host", { hostNetwork: true }), "noted");
  assert.equal(refused[`${prefix}/enforce-policy`], "baseline:v1.30");
  assert.match(refused[`${prefix}/audit-violations`] ?? "", /host namespaces/);
  assert.deepEqual(await notesOf("", "pods", pod("any"), "open"), {
    [`${prefix}/enforce-policy`]: "privileged:latest",
  });
  // What makes pods is not refused, so nothing is enforced, but said.
  const template = { metadata: { name: "t" }, template: { spec: pod("t").spec as JsonObject } };
  const made = await notesOf("", "podtemplates", template, "noted");
  assert.deepEqual(Object.keys(made), [`${prefix}/audit-violations`]);
});

test("baseline: each way out of a container has its words", () => {
  const context = (securityContext: object) => findings("baseline", { securityContext });
  const ofSpec = (spec: PodSpec) => findings("baseline", {}, spec);
  assert.equal(findings("baseline", {}), "");
  assert.equal(
    context({ privileged: true }),
    'privileged (container "a" must not set securityContext.privileged=true)',
  );
  assert.equal(
    context({ capabilities: { add: ["SYS_ADMIN", "CHOWN", "NET_RAW"] } }),
    'non-default capabilities (container "a" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  );
  assert.equal(
    ofSpec({ hostNetwork: true, hostPID: true, hostIPC: true }),
    "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
  );
  assert.equal(
    ofSpec({ volumes: [{ name: "v", hostPath: { path: "/" } }] }),
    'hostPath volumes (volume "v")',
  );
  assert.equal(
    findings("baseline", { ports: [{ hostPort: 80 }, { hostPort: 443 }, {}] }),
    'hostPort (container "a" uses hostPorts 443, 80)',
  );
  assert.equal(
    findings("baseline", { livenessProbe: { httpGet: { host: "10.0.0.1" } } }),
    'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
  );
  assert.equal(
    context({ procMount: "Unmasked" }),
    'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  );
  assert.equal(
    context({ seLinuxOptions: { type: "spc_t", user: "u" } }),
    'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
  );
  assert.equal(
    findings(
      "baseline",
      { securityContext: { seccompProfile: { type: "Unconfined" } } },
      { securityContext: { seccompProfile: { type: "Unconfined" } } },
    ),
    'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
  );
  assert.equal(
    ofSpec({
      securityContext: { sysctls: [{ name: "kernel.msgmax" }, { name: "net.ipv4.tcp_rmem" }] },
    }),
    "forbidden sysctls (kernel.msgmax)",
  );
  assert.equal(
    ofSpec({ securityContext: { windowsOptions: { hostProcess: true } } }),
    "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
  );
  assert.equal(
    context({ appArmorProfile: { type: "Unconfined" } }),
    'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
  );
});

test("restricted: what a plain pod lacks, in the words that people know", () => {
  assert.equal(
    findings("restricted", {}),
    'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  assert.equal(findings("restricted", HARDENED), "");
  const { securityContext } = HARDENED;
  const changed = (changes: object) =>
    findings("restricted", { securityContext: { ...securityContext, ...changes } });
  assert.equal(
    changed({ capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE", "CHOWN"] } }),
    'unrestricted capabilities (container "a" must not include "CHOWN" in securityContext.capabilities.add)',
  );
  assert.equal(
    changed({ runAsNonRoot: false }),
    'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
  );
  assert.equal(changed({ runAsUser: 0 }), 'runAsUser=0 (container "a" must not set runAsUser=0)');
  assert.equal(
    findings("restricted", HARDENED, {
      volumes: [
        { name: "h", hostPath: {} },
        { name: "n", nfs: {} },
        { name: "e", emptyDir: {} },
        { name: "i", image: { reference: "x" } },
      ],
    }),
    'restricted volume types (volumes "h", "n" use restricted volume types "hostPath", "nfs")',
  );
});

test("a version means the standards of that release", () => {
  assert.match(findings("restricted", {}, {}, 7), /^runAsNonRoot != true \([^,]*\)$/);
  assert.doesNotMatch(findings("restricted", {}, { os: { name: "windows" } }, 25), /escalation/i);
  assert.match(findings("restricted", {}, { os: { name: "windows" } }, 24), /escalation/i);
  const root = { securityContext: { ...HARDENED.securityContext, runAsUser: 0 } };
  assert.equal(findings("restricted", root, { hostUsers: false }), "");
  assert.match(findings("restricted", root, { hostUsers: false }, 34), /runAsUser=0/);
  const probe = { livenessProbe: { tcpSocket: { host: "x" } } };
  assert.equal(findings("baseline", probe, {}, 33), "");
});

test("a namespace that enforces refuses pods, one that warns warns, one without labels does neither", async () => {
  assert.deepEqual(await create("", "pods", pod("a", { hostPID: true }), "open"), []);
  assert.deepEqual(await create("", "pods", pod("a"), "baseline"), []);
  const { code, message } = await refusal(
    create("", "pods", pod("b", { hostPID: true }), "baseline"),
  );
  assert.equal(code, 403);
  assert.equal(
    message,
    'pods "b" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  );
  assert.match(
    (await refusal(create("", "pods", pod("b"), "old"))).message,
    /violates PodSecurity "restricted:v1.7": runAsNonRoot/,
  );
  const [warning = ""] = await create("", "pods", pod("w"), "warns");
  assert.match(warning, /^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation/);
});

test("whoever writes the template of a pod is warned and not refused", async () => {
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const deployment = {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  };
  const [warning = ""] = await create("apps", "deployments", deployment, "warns");
  assert.match(warning, /^would violate PodSecurity "restricted:latest"/);
  assert.deepEqual(await create("apps", "deployments", deployment, "restricted"), []);
  const job = {
    metadata: { name: "j" },
    spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } },
  };
  const cron = {
    metadata: { name: "c" },
    spec: { schedule: "* * * * *", jobTemplate: { spec: job.spec } },
  };
  assert.equal((await create("batch", "cronjobs", cron, "warns")).length, 1);
});

test("labels that make no sense are refused, and a stricter namespace names its bad pods", async () => {
  const { code, message } = await refusal(
    createNamespace("x", { "pod-security.kubernetes.io/enforce": "strict" }),
  );
  assert.equal(code, 422);
  assert.match(message, /Invalid value: "strict": must be one of privileged, baseline, restricted/);
  assert.match(
    (await refusal(label("open", { "pod-security.kubernetes.io/warn-version": "1.2" }))).message,
    /must be "latest" or "v1.x"/,
  );
  await create("", "pods", pod("b", { hostPID: true }), "open");
  await create("", "pods", pod("fine"), "open");
  assert.deepEqual(await label("open", { "pod-security.kubernetes.io/enforce": "baseline" }), [
    'existing pods in namespace "open" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 1 other pod): host namespaces",
  ]);
  assert.deepEqual(await label("open", { "pod-security.kubernetes.io/enforce": "privileged" }), []);
});

test("a running pod that no longer meets the standard can still be changed, but not its image", async () => {
  await createNamespace("later", {});
  await create("", "pods", pod("p", { hostPID: true }), "later");
  await label("later", { "pod-security.kubernetes.io/enforce": "baseline" });
  const change = async (patch: JsonObject) => {
    const target = {
      resource: harness.resource("", "v1", "pods"),
      namespace: "later",
      name: "p",
      subresource: "",
      options: writeOptions(),
      patch: (current: JsonValue) => applyMergePatch(current, patch),
    };
    await patchObject(registry, target, noSignal);
  };
  await change({ metadata: { labels: { a: "b" } } });
  const spec = { containers: [{ name: "c", image: "other" }] };
  assert.match((await refusal(change({ spec }))).message, /violates PodSecurity/);
});

test("a container for debugging meets the standard as well", async () => {
  await create("", "pods", pod("debugged"), "baseline");
  const debug = (securityContext: JsonObject) =>
    patchObject(
      registry,
      {
        resource: harness.part("", "v1", "pods", "ephemeralcontainers"),
        namespace: "baseline",
        name: "debugged",
        subresource: "ephemeralcontainers",
        options: writeOptions(),
        patch: (current: JsonValue) =>
          applyMergePatch(current, {
            spec: { ephemeralContainers: [{ name: "d", image: "i", securityContext }] },
          }),
      },
      noSignal,
    );
  assert.match(
    (await refusal(debug({ privileged: true }))).message,
    /violates PodSecurity "baseline:latest": privileged \(container "d"/,
  );
  await debug({});
});

test("A20: the configuration has defaults for namespaces without labels, and exempts", async () => {
  const plugin = new PodSecurity(view, naming, {
    defaults: { enforce: "baseline" },
    usernames: new Set(["root"]),
    namespaces: new Set(["warns"]),
    runtimeClasses: new Set(["sealed"]),
  });
  const configured: Registry = { ...harness.registry, admission: new AdmissionChain([plugin]) };
  await createNamespace("blank", {});
  await registry.freshness.fresh();
  const resource = harness.resource("", "v1", "pods");
  const ask = async (namespace: string, spec: JsonObject = {}, user = "ann") => {
    const notes: Record<string, string> = {};
    const options = writeOptions({
      isDryRun: true,
      user: createUser({ name: user }),
      remarks: {
        annotate: (key, value) => {
          notes[key] = value;
        },
      },
    });
    const input = inputOf(pod("p", { hostNetwork: true, ...spec }));
    await createObject(configured, { resource, namespace, input, options }, noSignal);
    return notes["pod-security.kubernetes.io/exempt"];
  };
  await assert.rejects(ask("blank"), /violates PodSecurity "baseline:latest": host namespaces/);
  assert.equal(await ask("warns"), "namespace");
  assert.equal(await ask("blank", {}, "root"), "user");
  assert.equal(await ask("blank", { runtimeClassName: "sealed" }), "runtimeClass");
});
