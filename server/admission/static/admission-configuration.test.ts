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
  assert.deepEqual(Object.fromEntries(found), {
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
      whole({ name: "PodSecurity" }),
      /plugins\[0\].name: "PodSecurity" takes no configuration here/,
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
