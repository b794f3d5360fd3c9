/**
 * The chart of a policy controller for clients that are no Helm: what is rendered, with its webhooks played
 * by the test, and a namespace that its rules are about.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AdmissionHook, jsonPatch } from "../../server/admission/testing/admission-webhook.js";
import { eventually } from "../harness/eventually.js";
import type { ServerProcess } from "../harness/server-process.js";
import { type HelmName, REPOSITORY, runHelm } from "./chart.js";

export const CONTROLLER = join(REPOSITORY, "e2e/helm/policy-controller");

/** The mutating webhook leaves a note, the validating one says whether it allows. */
export function playWebhooks(hook: AdmissionHook, isAllowed: boolean): void {
  hook.respond = (_request, url) => {
    if (!url.includes("mutating")) return { allowed: isAllowed, status: { message: "not today" } };
    return jsonPatch({ op: "add", path: "/metadata/annotations", value: { seen: "yes" } });
  };
}

/** Values of the chart: its webhooks are told apart by their paths. */
export function controllerFlags(hook: AdmissionHook, namespace: string): string[] {
  const { url, caBundle } = hook.clientConfig("/") as { url: string; caBundle: string };
  const values = [`webhook.url=${url}`, `webhook.caBundle=${caBundle}`];
  return [...values, `namespaceLabel=${namespace}`].flatMap((value) => ["--set", value]);
}

export async function putUnderRules({ client }: ServerProcess, namespace: string): Promise<void> {
  const metadata = { name: namespace, labels: { rules: namespace } };
  (await client.post("/api/v1/namespaces", { metadata })).expect(201);
}

/** Makes the kind of the parameters, which a client without Helm would have to wait for, and the manifests. */
export async function renderController(
  helm: HelmName,
  release: string,
  { server, hook }: { readonly server: ServerProcess; readonly hook: AdmissionHook },
  namespace: string,
): Promise<{ readonly manifests: string }> {
  const render = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHelm(helm, args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const { client } = server;
  const body = await render("show", "crds", CONTROLLER);
  const headers = { "content-type": "application/yaml" };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const { status, text } = await client.request(definitions, { method: "POST", headers, body });
  assert.ok(status === 201 || status === 409, text);
  await eventually("limits are served", async () =>
    (await client.get("/apis/policies.example.com/v1/entrylimits")).expect(200),
  );
  const manifests = join(server.dataDir, `${release}.yaml`);
  const flags = ["--namespace", namespace, ...controllerFlags(hook, namespace)];
  await writeFile(manifests, await render("template", release, CONTROLLER, ...flags));
  return { manifests };
}
