/** The server that a kubeconfig names in its current context, with a token or a certificate of the file. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import {
  type Answer,
  type Credentials,
  HttpsClient,
  type RequestOptions,
} from "../harness/https-client.js";

interface Named<T> {
  readonly name: string;
  readonly cluster?: T;
  readonly user?: T;
  readonly context?: T;
}
type Values = Readonly<Record<string, string | boolean | undefined>>;
interface Kubeconfig {
  readonly "current-context": string;
  readonly clusters: readonly Named<Values>[];
  readonly users: readonly Named<Values>[];
  readonly contexts: readonly Named<Values>[];
}

/** @throws {Error} for a file that names no server */
export async function openPeerClient(file: string): Promise<HttpsClient> {
  const config = parse(await readFile(file, "utf8")) as Kubeconfig;
  const context = find(config.contexts, config["current-context"], "context");
  const cluster = find(config.clusters, String(context.cluster), "cluster");
  const user = find(config.users, String(context.user), "user");
  const pem = (data: string | boolean | undefined) =>
    Buffer.from(String(data), "base64").toString();
  const credentials = {
    ca: pem(cluster["certificate-authority-data"] ?? ""),
    ...(user["client-certificate-data"] === undefined
      ? {}
      : { cert: pem(user["client-certificate-data"]), key: pem(user["client-key-data"]) }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { rejectUnauthorized: false } : {}),
  };
  return new PeerClient(String(cluster.server), credentials, user.token);
}

function find(list: readonly Named<Values>[], name: string, kind: "cluster" | "user" | "context") {
  const found = list.find((one) => one.name === name)?.[kind];
  if (found === undefined) throw new Error(`the kubeconfig has no ${kind} ${JSON.stringify(name)}`);
  return found;
}

class PeerClient extends HttpsClient {
  readonly #authorization: Readonly<Record<string, string>>;

  constructor(url: string, credentials: Credentials, token: string | boolean | undefined) {
    super(url, credentials);
    this.#authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  override request(path: string, options: RequestOptions = {}): Promise<Answer> {
    const headers = { ...this.#authorization, ...options.headers };
    return super.request(path, { ...options, headers });
  }
}
