/** The configuration of admission plugins: valid files, and errors that stop the start. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { parseAdmissionConfiguration } from "./admission-configuration.js";

const V1 = "apiserver.config.k8s.io/v1";

function parse(files: Readonly<Record<string, unknown>>, allowsManifests = true) {
  return parseAdmissionConfiguration("/etc/admission/config.yaml", {
    naming: createNaming(DEFAULT_VENDOR),
    allowsManifests,
    readText(path) {
      const file = files[path];
      if (file === undefined) throw new Error(`ENOENT: ${path}`);
      return typeof file === "string" ? file : JSON.stringify(file);
    },
  });
}

const whole = (...plugins: object[]) => ({
  "/etc/admission/config.yaml": { apiVersion: V1, kind: "AdmissionConfiguration", plugins },
});
const webhook = (members: object) => ({
  apiVersion: V1,
  kind: "WebhookAdmissionConfiguration",
  ...members,
});
const policies = (kind: string, members: object) => ({ apiVersion: V1, kind, ...members });

test("plugins are configured in place, or in files beside the configuration", () => {
  const found = parse({
    ...whole(
      {
        name: "ValidatingAdmissionWebhook",
        configuration: webhook({ kubeConfigFile: "/k", staticManifestsDir: "" }),
      },
      { name: "MutatingAdmissionWebhook", path: "more/hooks.yaml" },
      { name: "MutatingAdmissionPolicy" },
      {
        name: "ValidatingAdmissionPolicy",
        configuration: policies("ValidatingAdmissionPolicyConfiguration", {
          staticManifestsDir: "/policies",
        }),
      },
    ),
    "/etc/admission/more/hooks.yaml": webhook({ staticManifestsDir: "/hooks" }),
  });
  assert.deepEqual(Object.fromEntries(found.rules), {
    ValidatingAdmissionWebhook: { kubeConfigFile: "/k", staticManifestsDir: "" },
    MutatingAdmissionWebhook: { kubeConfigFile: "", staticManifestsDir: "/hooks" },
    ValidatingAdmissionPolicy: { kubeConfigFile: "", staticManifestsDir: "/policies" },
  });
});

test("what cannot be used is refused with its place", () => {
  const hooks = (members: object) =>
    whole({ name: "MutatingAdmissionWebhook", configuration: webhook(members) });
  const table: [Readonly<Record<string, unknown>>, RegExp][] = [
    [{}, /ENOENT: \/etc\/admission\/config.yaml$/],
    [{ "/etc/admission/config.yaml": "a: [" }, /config.yaml: /],
    [{ "/etc/admission/config.yaml": "a: 1\na: 2" }, /"a"|key/],
    [{ "/etc/admission/config.yaml": { kind: "Pod" } }, /expected AdmissionConfiguration of/],
    [
      whole({ name: "LimitRanger" }),
      /plugins\[0\].name: "LimitRanger" takes no configuration here/,
    ],
    [whole({ name: "MutatingAdmissionPolicy", nmae: "" }), /unknown field "plugins\[0\].nmae"/],
    [
      whole({ name: "MutatingAdmissionPolicy", path: "a" }, { name: "x" }),
      /ENOENT: \/etc\/admission\/a$/,
    ],
    [
      whole({ name: "MutatingAdmissionPolicy", configuration: webhook({}) }),
      /expected MutatingAdmissionPolicyConfiguration of apiserver.config.k8s.io\/v1, not/,
    ],
    [hooks({ kubeConfig: "/k" }), /unknown field "plugins\[0\].configuration.kubeConfig"/],
    [
      hooks({ kubeConfigFile: "k" }),
      /kubeConfigFile: Invalid value: "k": must be an absolute file/,
    ],
    [hooks({ staticManifestsDir: "k" }), /staticManifestsDir: Invalid value: "k": must be an abs/],
    [
      whole(
        { name: "MutatingAdmissionWebhook", configuration: webhook({}) },
        { name: "MutatingAdmissionWebhook", configuration: webhook({}) },
      ),
      /plugins\[1\].name: MutatingAdmissionWebhook stands there twice/,
    ],
  ];
  for (const [files, message] of table) {
    assert.throws(() => parse(files), { name: "AdmissionConfigurationError", message });
  }
});

test("directories of manifests need their feature gate", () => {
  const files = whole({
    name: "MutatingAdmissionWebhook",
    configuration: webhook({ staticManifestsDir: "/m" }),
  });
  assert.throws(() => parse(files, false), {
    message:
      /Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled$/,
  });
});

const settingsOf = (name: string, configuration: object) =>
  parse(whole({ name, configuration })).settings;
const typed = (group: string, version: string, kind: string, members: object) => ({
  apiVersion: `${group}.k8s.io/${version}`,
  kind,
  ...members,
});

test("A20: plugins take their settings from the file", () => {
  const limits = [
    { type: "Server", qps: 10, burst: 20 },
    { type: "User", qps: 1, burst: 2, cacheSize: 7 },
  ];
  const events = typed("eventratelimit.admission", "v1alpha1", "Configuration", { limits });
  assert.deepEqual(settingsOf("EventRateLimit", events).EventRateLimit, [
    { type: "Server", qps: 10, burst: 20, cacheSize: 4096 },
    { type: "User", qps: 1, burst: 2, cacheSize: 7 },
  ]);
  const imagePolicy = { kubeConfigFile: "/k", allowTTL: 60, denyTTL: -1, defaultAllow: true };
  assert.deepEqual(settingsOf("ImagePolicyWebhook", { imagePolicy }).ImagePolicyWebhook, {
    kubeConfigFile: "/k",
    allowTtlMs: 60_000,
    denyTtlMs: 0,
    retryBackoffMs: 500,
    defaultAllow: true,
  });
  const podNodeSelectorPluginConfig = { clusterDefaultNodeSelector: "a=b", shop: "c=d" };
  assert.deepEqual(
    settingsOf("PodNodeSelector", { podNodeSelectorPluginConfig }).PodNodeSelector,
    new Map([
      ["clusterDefaultNodeSelector", "a=b"],
      ["shop", "c=d"],
    ]),
  );
  const tolerations = typed("podtolerationrestriction.admission", "v1alpha1", "Configuration", {
    default: [{ key: "k", operator: "Exists" }],
  });
  assert.deepEqual(settingsOf("PodTolerationRestriction", tolerations).PodTolerationRestriction, {
    defaults: [{ key: "k", operator: "Exists" }],
    allowed: [],
  });
  const limitedResources = [{ resource: "pods", matchContains: ["cpu"] }];
  const quotas = policies("ResourceQuotaConfiguration", { limitedResources });
  assert.deepEqual(settingsOf("ResourceQuota", quotas).ResourceQuota, [
    { apiGroup: "", resource: "pods", matchContains: ["cpu"], matchScopes: [] },
  ]);
  for (const version of ["v1beta1", "v1alpha1"]) {
    const older = typed("resourcequota.admission", version, "Configuration", { limitedResources });
    assert.equal(settingsOf("ResourceQuota", older).ResourceQuota?.length, 1, version);
  }
  const pods = typed("pod-security.admission.config", "v1", "PodSecurityConfiguration", {
    defaults: { enforce: "baseline", "enforce-version": "latest", warn: "" },
    exemptions: { usernames: ["ann"], namespaces: ["kube-system"] },
  });
  assert.deepEqual(settingsOf("PodSecurity", pods).PodSecurity, {
    defaults: { enforce: "baseline", "enforce-version": "latest" },
    usernames: new Set(["ann"]),
    namespaces: new Set(["kube-system"]),
    runtimeClasses: new Set(),
  });
});

test("A20: settings that make no sense end the start", () => {
  const events = (limits: object[]) =>
    typed("eventratelimit.admission", "v1alpha1", "Configuration", { limits });
  const pods = (members: object) =>
    typed("pod-security.admission.config", "v1", "PodSecurityConfiguration", members);
  const table: [string, object, RegExp][] = [
    ["EventRateLimit", events([]), /limits: Invalid value: must not be empty/],
    ["EventRateLimit", events([{ type: "Pod", qps: 1, burst: 1 }]), /Unsupported value: "Pod"/],
    ["EventRateLimit", events([{ type: "User", qps: 0, burst: 1 }]), /qps: .*must be positive/],
    ["EventRateLimit", { kind: "Configuration" }, /expected Configuration of eventratelimit/],
    ["ImagePolicyWebhook", {}, /kubeConfigFile: Required value/],
    [
      "ImagePolicyWebhook",
      { imagePolicy: { kubeConfigFile: "/k", allowTTL: 9_999 } },
      /allowTTL: valid value is between/,
    ],
    ...(
      [
        ["default", { key: "k", operator: "Gt", value: "5" }, /operator: Unsupported value: "Gt"/],
        ["default", { operator: "Equal" }, /operator must be Exists when `key` is empty/],
        ["default", { key: "k", effect: "NoSchedule", tolerationSeconds: 5 }, /'NoExecute' when/],
        ["whitelist", { key: "a b" }, /whitelist\[0\]\.key: Invalid value: "a b"/],
        ["whitelist", { key: "k", effect: "Off" }, /effect: Unsupported value: "Off"/],
        ["whitelist", { key: "k", operator: "Exists", value: "v" }, /value must be empty/],
      ] as const
    ).map(([list, toleration, message]): [string, object, RegExp] => [
      "PodTolerationRestriction",
      typed("podtolerationrestriction.admission", "v1alpha1", "Configuration", {
        [list]: [toleration],
      }),
      message,
    ]),
    ["PodNodeSelector", { selectors: {} }, /unknown field ".*selectors"/],
    ["PodSecurity", pods({ defaults: { enforce: "strict" } }), /must be one of privileged/],
    ["PodSecurity", pods({ exemptions: { usernames: ["a", "a"] } }), /there twice/],
    [
      "PodSecurity",
      pods({ exemptions: { namespaces: ["A_b"] } }),
      /"A_b": a lowercase RFC 1123 label/,
    ],
    ["PodSecurity", pods({ exemptions: { namespaces: ["a.b"] } }), /"a.b": must not contain dots/],
    [
      "PodSecurity",
      pods({ exemptions: { runtimeClasses: ["X y"] } }),
      /"X y": a lowercase RFC 1123 subdomain/,
    ],
  ];
  for (const [name, configuration, message] of table) {
    assert.throws(() => settingsOf(name, configuration), { message }, name);
  }
});
