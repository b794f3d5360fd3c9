/**
 * Client configuration files: the address of an API server or webhook, and the credentials for it. The
 * format is that of kube-apiserver's clients (clusters, users, contexts, current-context); webhooks,
 * controllers and tests read it.
 *
 *   clusters: [{name, cluster: {server, certificate-authority[-data], tls-server-name, ...}}]
 *   users:    [{name, user: {token | tokenFile | client-certificate[-data] + client-key[-data] | exec}}]
 *   contexts: [{name, context: {cluster, user}}]
 *   current-context: name
 *
 * Paths are relative to the file. Certificate, key and token files stay paths here, because clients reread
 * them from time to time. Messages contain no secrets.
 */
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Naming } from "../api/naming.js";
import { parseYaml } from "../codec/yaml.js";
import { type ExecConfig, parseExecConfig } from "./exec-config.js";
import { type Members, membersOf, optionalFlag, optionalText } from "./members.js";

/** A cluster and a user, with what is needed to connect. */
export interface ClientConfig {
  /** "https://host:port/path"; a query or fragment does not count, as for other clients. */
  readonly server: string;
  /** PEM of the trusted authorities; undefined = the system's. */
  readonly ca: string | undefined;
  /** The name required in the server's certificate, if it is not the address's. */
  readonly serverName: string | undefined;
  readonly isInsecure: boolean;
  readonly user: ClientUser;
}

/** At most one of token, password and exec; a token may be combined with a certificate. */
export interface ClientUser {
  readonly token?: TextSource;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly certificate?: { readonly cert: TextSource; readonly key: TextSource };
  readonly exec?: ExecConfig;
}

/** Inline text, or the file that holds it. */
export type TextSource = { readonly text: string } | { readonly file: string };

/** The file is unusable. The message names the file and the problem, in one line. */
export class ClientConfigError extends Error {
  override readonly name = "ClientConfigError";
}

export interface ClientConfigOptions {
  readonly naming: Naming;
  /** Replaces the file's current-context. */
  readonly context?: string;
}

/** Reads a file and its authorities. @throws {ClientConfigError} */
export async function readClientConfig(
  path: string,
  options: ClientConfigOptions,
): Promise<ClientConfig> {
  const text = await readText(path, path);
  return await parseClientConfig(text, { ...options, path });
}

/** Like readClientConfig, for text already read. @throws {ClientConfigError} */
export async function parseClientConfig(
  text: string,
  { path, naming, context }: ClientConfigOptions & { readonly path: string },
): Promise<ClientConfig> {
  try {
    const file = membersOf(parseYaml(text).value, "");
    const contextName = context ?? optionalText(file, "current-context") ?? "";
    if (contextName === "") throw new Error("current-context is not set");
    const chosen = namedEntry(file, "contexts", contextName, "context");
    if (chosen === undefined) {
      throw new Error(`context was not found for specified context: ${contextName}`);
    }
    const clusterName = optionalText(chosen, "cluster") ?? "";
    const userName = optionalText(chosen, "user") ?? "";
    const cluster = namedEntry(file, "clusters", clusterName, "cluster");
    if (cluster === undefined) {
      throw new Error(`cluster "${clusterName}" was not found for context "${contextName}"`);
    }
    // A context without a user connects without credentials.
    const user = userName === "" ? {} : namedEntry(file, "users", userName, "user");
    if (user === undefined) {
      throw new Error(`user "${userName}" was not found for context "${contextName}"`);
    }
    const directory = dirname(path);
    const endpoint = await readCluster(cluster, clusterName, directory);
    return {
      ...endpoint,
      user: readUser(user, userName, { directory, naming, cluster, endpoint }),
    };
  } catch (error) {
    if (error instanceof ClientConfigError) throw error;
    throw new ClientConfigError(`${path}: invalid configuration: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** All users of a file, and the current context's; clusters are ignored. @throws {ClientConfigError} */
export function parseClientUsers(
  text: string,
  { path, naming }: ClientConfigOptions & { readonly path: string },
): { readonly users: ReadonlyMap<string, ClientUser>; readonly current: ClientUser | undefined } {
  try {
    const file = membersOf(parseYaml(text).value, "");
    const surroundings = {
      directory: dirname(path),
      naming,
      cluster: {},
      endpoint: { server: "", ca: undefined, serverName: undefined, isInsecure: false },
    };
    const users = new Map<string, ClientUser>();
    for (const entry of Array.isArray(file.users) ? file.users : []) {
      const name = optionalText(membersOf(entry, "users"), "name", "users") ?? "";
      const user = users.has(name) ? undefined : namedEntry(file, "users", name, "user");
      if (user !== undefined) users.set(name, readUser(user, name, surroundings));
    }
    const context = optionalText(file, "current-context");
    const chosen = context === undefined ? {} : namedEntry(file, "contexts", context, "context");
    return { users, current: users.get(optionalText(chosen ?? {}, "user") ?? "") };
  } catch (error) {
    throw new ClientConfigError(`${path}: invalid configuration: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** `[{name, [member]: {...}}]`: the entry of that name. The first one wins, as in other clients. */
function namedEntry(
  file: Members,
  list: string,
  name: string,
  member: string,
): Members | undefined {
  const entries = file[list] ?? [];
  if (!Array.isArray(entries)) throw new Error(`${list}: expected a list`);
  for (const [index, entry] of entries.entries()) {
    const where = `${list}[${index}]`;
    const members = membersOf(entry, where);
    if (optionalText(members, "name", where) === name) {
      return membersOf(members[member] ?? {}, `${where}.${member}`);
    }
  }
  return undefined;
}

export type ClusterEndpoint = Omit<ClientConfig, "user">;

async function readCluster(
  cluster: Members,
  name: string,
  directory: string,
): Promise<ClusterEndpoint> {
  const server = optionalText(cluster, "server") ?? "";
  if (server === "") throw new Error(`no server found for cluster "${name}"`);
  checkServer(server);
  if ((optionalText(cluster, "proxy-url") ?? "") !== "") {
    throw new Error(`proxy-url of cluster "${name}" is not supported: connections go directly`);
  }
  const isInsecure = optionalFlag(cluster, "insecure-skip-tls-verify");
  const ca = sourceOf(cluster, "certificate-authority", directory, name);
  if (isInsecure && ca !== undefined) {
    throw new Error("specifying a root certificates file with the insecure flag is not allowed");
  }
  return {
    server,
    isInsecure,
    ca: ca === undefined ? undefined : await readSource(ca, "certificate-authority"),
    serverName: optionalText(cluster, "tls-server-name"),
  };
}

function checkServer(server: string): void {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new Error(`server ${JSON.stringify(server)} is not a URL of scheme https or http`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error("server must not carry a user name or password");
  }
}

interface UserSurroundings {
  readonly directory: string;
  readonly naming: Naming;
  readonly cluster: Members;
  readonly endpoint: ClusterEndpoint;
}

function readUser(
  user: Members,
  name: string,
  { directory, naming, cluster, endpoint }: UserSurroundings,
): ClientUser {
  const cert = sourceOf(user, "client-certificate", directory, name);
  const key = sourceOf(user, "client-key", directory, name);
  if (cert !== undefined && key === undefined) {
    throw new Error(
      `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`,
    );
  }
  if (cert === undefined && key !== undefined) {
    throw new Error(`client-certificate must be specified for ${name} to use client-key`);
  }
  // The file is reread and takes precedence over the text, as in other clients.
  const tokenFile = optionalText(user, "tokenFile");
  const tokenText = optionalText(user, "token");
  const token: TextSource | undefined =
    tokenFile !== undefined
      ? { file: resolvePath(directory, tokenFile) }
      : tokenText === undefined
        ? undefined
        : { text: tokenText };
  const username = optionalText(user, "username");
  const password = optionalText(user, "password");
  const exec =
    user.exec === undefined || user.exec === null
      ? undefined
      : parseExecConfig(membersOf(user.exec, "exec"), { directory, naming, cluster, endpoint });
  const methods = [
    ...(token === undefined ? [] : ["token"]),
    ...(username === undefined && password === undefined ? [] : ["basicAuth"]),
  ];
  if (methods.length > 1) {
    throw new Error(
      `more than one authentication method found for ${name}; found [${methods.join(" ")}], only one is allowed`,
    );
  }
  if (user["auth-provider"] !== undefined) {
    throw new Error(`auth-provider of user "${name}" is not supported: use exec`);
  }
  return {
    ...(token === undefined ? {} : { token }),
    ...(username === undefined && password === undefined
      ? {}
      : { basic: { username: username ?? "", password: password ?? "" } }),
    ...(cert === undefined || key === undefined ? {} : { certificate: { cert, key } }),
    ...(exec === undefined ? {} : { exec }),
  };
}

/** `member` names a file; `member-data` has it in base64 and takes precedence. */
function sourceOf(
  members: Members,
  member: string,
  directory: string,
  owner: string,
): TextSource | undefined {
  const data = optionalText(members, `${member}-data`);
  const file = optionalText(members, member);
  if (data !== undefined) {
    const decoded = Buffer.from(data, "base64").toString("utf8");
    if (decoded === "") throw new Error(`${member}-data of ${owner} is not base64`);
    return { text: decoded };
  }
  return file === undefined ? undefined : { file: resolvePath(directory, file) };
}

function resolvePath(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

/** The text itself. @throws {ClientConfigError} the file cannot be read */
async function readSource(source: TextSource, what: string): Promise<string> {
  return "text" in source ? source.text : await readText(source.file, what);
}

async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const subject = what === path ? path : `${what} ${path}`;
    throw new ClientConfigError(`unable to read ${subject}: ${code}`, { cause: error });
  }
}
