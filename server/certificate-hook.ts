/**
 * What the chart's hook and CronJob run with `certificates.source=job`: makes or renews the serving certificate, as
 * Secrets of the cluster that Keelson is installed in. One Secret has what the replicas serve and clients
 * are told; the authority's key is in another, which no pod mounts. A script of its own in the bundle, not of
 * the command: it asks the existing cluster, with the pod's own account.
 */
import { readFile } from "node:fs/promises";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { parseBlock } from "./api/ip-address.js";
import { serviceHosts } from "./certificates/certificates.js";
import { parseIdentity } from "./certificates/identity-files.js";
import { renewServing, type ServingRenewal } from "./certificates/serving-secret.js";
import { firstServiceAddress } from "./wiring/own-hosts.js";

/** An answer that takes longer fails the run, which its Job repeats. */
const ANSWER_MS = 20_000;

/** Kubernetes' own words for where a pod finds the API of its cluster, and the chart's for the rest. */
export interface HookEnvironment {
  readonly KUBERNETES_SERVICE_HOST?: string;
  readonly KUBERNETES_SERVICE_PORT?: string;
  readonly SECRET_NAMESPACE?: string;
  readonly SECRET_NAME?: string;
  /** Names and addresses, separated by commas. */
  readonly SERVING_NAMES?: string;
  readonly SERVICE_RANGES?: string;
  readonly VENDOR?: string;
}

interface Secret {
  readonly metadata: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

interface Cluster {
  readonly namespace: string;
  /** @returns undefined for 404 @throws {Error} any other refusal */
  call(method: "GET" | "POST" | "PUT", name: string, body?: unknown): Promise<Secret | undefined>;
}

/**
 * @param tokens the folder with the pod's `token` and `ca.crt`
 * @returns what it did, one line
 * @throws {Error} what stands in the way
 */
export async function runCertificateHook(
  environment: HookEnvironment,
  tokens: string,
): Promise<string> {
  const name = environment.SECRET_NAME ?? "";
  const authorityName = `${name}-authority`;
  const hosts = hostsOf(environment);
  const cluster = await openCluster(environment, tokens);
  const [serving, authority] = await Promise.all([
    cluster.call("GET", name),
    cluster.call("GET", authorityName),
  ]);
  const identity = parseIdentity(textOf(authority, "tls.key") + textOf(authority, "tls.crt"));
  const state = {
    ...(identity !== undefined && { authority: identity }),
    authorities: textOf(serving, "ca.crt"),
    certificate: textOf(serving, "tls.crt"),
  };
  const renewal = await renewServing(state, hosts, new Date());
  if (renewal === undefined) return `${name}: the certificate is good`;
  // The authority first: a run that ends between the two finds it and goes on with it.
  if (renewal.authority !== identity) {
    const { cert, key } = renewal.authority;
    await store(cluster, authorityName, authority, { "tls.crt": cert, "tls.key": key });
  }
  await store(cluster, name, serving, dataOf(renewal));
  return `${name}: a new certificate for ${hosts.join(", ")}`;
}

function hostsOf(environment: HookEnvironment): string[] {
  const { SERVING_NAMES = "", SERVICE_RANGES = "", VENDOR = "" } = environment;
  const blocks = SERVICE_RANGES.split(",").map(parseBlock);
  const addresses = blocks.flatMap((block) => (block ? [firstServiceAddress(block)] : []));
  const names = SERVING_NAMES.split(",").filter((name) => name !== "");
  return ["localhost", "127.0.0.1", "::1", ...serviceHosts(VENDOR), ...addresses, ...names];
}

function dataOf({ serving, authorities }: ServingRenewal): Record<string, string> {
  return { "tls.crt": serving.cert, "tls.key": serving.key, "ca.crt": authorities };
}

function textOf(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? "", "base64").toString();
}

async function store(
  { call, namespace }: Cluster,
  name: string,
  before: Secret | undefined,
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  const data: Record<string, string> = {};
  for (const [key, text] of Object.entries(texts)) data[key] = Buffer.from(text).toString("base64");
  // With the version that was read: of two runs one is refused, and its Job begins again.
  const resourceVersion = before?.metadata.resourceVersion;
  const metadata = { namespace, name, ...(resourceVersion !== undefined && { resourceVersion }) };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data };
  await call(before === undefined ? "POST" : "PUT", name, secret);
}

async function openCluster(environment: HookEnvironment, tokens: string): Promise<Cluster> {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = environment;
  const namespace = environment.SECRET_NAMESPACE ?? "";
  const files = ["ca.crt", "token"].map((file) => readFile(join(tokens, file), "utf8"));
  const [ca = "", token = ""] = await Promise.all(files);
  const headers = { authorization: `Bearer ${token.trim()}`, "content-type": "application/json" };
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  return {
    namespace,
    async call(method, name, body) {
      const path = method === "POST" ? secrets : `${secrets}/${name}`;
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const { status, text } = await ask({ host, port, ca, headers, method, path }, sent);
      if (method === "GET" && status === 404) return undefined;
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
      return JSON.parse(text) as Secret;
    },
  };
}

function ask(
  options: RequestOptions,
  body: string | undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, timeout: ANSWER_MS }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
    sent.on("error", reject);
    sent.end(body);
  });
}
