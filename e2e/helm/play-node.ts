/**
 * What a node and the Job controller do for hooks: runs the pods and Jobs of a namespace as processes,
 * and tells the API how they ended, so that Helm, which waits for them, goes on.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HttpsClient } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Rendered } from "./chart.js";
import { runPod } from "./run-pod.js";

const TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount";
const INTERVAL_MS = 100;

export interface PlayedNode extends AsyncDisposable {
  /** What hooks printed, by name. */
  readonly outputs: ReadonlyMap<string, string>;
  /** What hooks have printed by now. */
  forget(): void;
}

/**
 * @param names what texts in arguments and environment become
 * @param images as in `PodPlan`
 */
export function playNode(
  client: HttpsClient,
  namespace: string,
  names: Readonly<Record<string, string>>,
  images: Readonly<Record<string, string>> = {},
): PlayedNode {
  const outputs = new Map<string, string>();
  const done = new Set<string>();
  const ending = new AbortController();
  const look = async (): Promise<void> => {
    const jobs = (await client.get(`/apis/batch/v1/namespaces/${namespace}/jobs`)).items;
    const pods = (await client.get(`/api/v1/namespaces/${namespace}/pods`)).items;
    for (const object of [...jobs, ...pods] as unknown as Rendered[]) {
      const key = String((object.metadata as { uid?: string }).uid);
      if (done.has(key)) continue;
      done.add(key);
      const isJob = object.spec.template !== undefined;
      const spec = isJob ? object.spec.template.spec : object.spec;
      const { output, code } = await runHook(client, namespace, {
        name: object.metadata.name,
        spec,
        names,
        images,
      });
      outputs.set(object.metadata.name, output);
      await report(client, namespace, object.metadata.name, { isJob, isGood: code === 0 });
    }
  };
  const running = (async () => {
    while (!ending.signal.aborted) {
      await look().catch((error: unknown) => outputs.set("a look that failed", String(error)));
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    }
  })();
  return {
    outputs,
    forget: () => outputs.clear(),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  };
}

interface Hook {
  readonly name: string;
  readonly spec: Rendered["spec"];
  readonly names: Readonly<Record<string, string>>;
  readonly images: Readonly<Record<string, string>>;
}

async function runHook(
  client: HttpsClient,
  namespace: string,
  { name, spec, names, images }: Hook,
): Promise<{ readonly output: string; readonly code: number | null }> {
  await using folder = await makeTempDir("hook");
  const tokens = join(folder.path, "token");
  await mkdir(tokens);
  const account = spec.serviceAccountName ?? "default";
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { status } = (await client.post(path, request)).expect(201).object as { status?: unknown };
  await writeFile(join(tokens, "token"), (status as { token: string }).token);
  await writeFile(join(tokens, "ca.crt"), client.credentials.ca);
  const { hostname, port } = new URL(client.url);
  await using pod = await runPod({
    spec: withoutTokenVolume(spec),
    name,
    ip: "127.0.0.1",
    names,
    images,
    secrets: await secretsOf(client, namespace, spec),
    folders: { [TOKENS]: tokens },
    env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  });
  while (!pod.child.hasEnded) await new Promise((resolve) => setTimeout(resolve, 20));
  return { output: pod.child.output, code: pod.child.exitCode };
}

/** Contents of the Secrets that its volumes name and that are there. */
async function secretsOf(
  client: HttpsClient,
  namespace: string,
  spec: Rendered["spec"],
): Promise<Record<string, Record<string, string>>> {
  const secrets: Record<string, Record<string, string>> = {};
  for (const { secret } of spec.volumes ?? []) {
    if (secret === undefined) continue;
    const path = `/api/v1/namespaces/${namespace}/secrets/${secret.secretName}`;
    const { data = {} } = (await client.get(path)).object as { data?: Record<string, string> };
    const texts = Object.entries(data).map(([key, text]) => [
      key,
      Buffer.from(text, "base64").toString(),
    ]);
    secrets[secret.secretName] = Object.fromEntries(texts);
  }
  return secrets;
}

/** Admission has added a volume with the token, which is what `folders` stands for. */
function withoutTokenVolume(spec: Rendered["spec"]): Rendered["spec"] {
  const containers = spec.containers.map((container: Rendered["spec"]) => ({
    ...container,
    volumeMounts: (container.volumeMounts ?? []).filter(
      ({ mountPath }: { mountPath: string }) => mountPath !== TOKENS,
    ),
  }));
  return { ...spec, containers };
}

async function report(
  client: HttpsClient,
  namespace: string,
  name: string,
  { isJob, isGood }: { readonly isJob: boolean; readonly isGood: boolean },
): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: now });
  const job = isGood
    ? {
        startTime: now,
        completionTime: now,
        succeeded: 1,
        conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
      }
    : {
        startTime: now,
        failed: 1,
        conditions: [condition("FailureTarget"), condition("Failed")],
      };
  const path = isJob
    ? `/apis/batch/v1/namespaces/${namespace}/jobs/${name}/status`
    : `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  const status = isJob ? job : { phase: isGood ? "Succeeded" : "Failed" };
  const answer = await client.patch(path, { status });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
}
