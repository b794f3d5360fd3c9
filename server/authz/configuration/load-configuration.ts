/**
 * Reads an AuthorizationConfiguration with all files that it names: the flag's file, and the client
 * configuration of each webhook. The result is complete, valid and has a fingerprint.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Naming } from "../../api/naming.js";
import {
  type ClientConfig,
  ClientConfigError,
  parseClientConfig,
} from "../../client/client-config.js";
import type { CompileCondition } from "../webhook/match-conditions.js";
import {
  type AuthorizationConfiguration,
  AuthorizationConfigurationError,
  parseAuthorizationConfiguration,
} from "./authorization-configuration.js";
import {
  type ConditionsByAuthorizer,
  type ReadFile,
  validateAuthorizationConfiguration,
} from "./validate-configuration.js";

/** The source of the configuration: a file that may change, or flags. */
export type ConfigurationSource =
  | { readonly file: string }
  | { readonly configuration: AuthorizationConfiguration };

export interface LoadedConfiguration {
  readonly configuration: AuthorizationConfiguration;
  readonly conditions: ConditionsByAuthorizer;
  /** By path; users of an invalid one report its error. */
  readonly clients: ReadonlyMap<string, ClientConfig | ClientConfigError>;
}

export interface ReadConfiguration {
  /** Changes with any byte of any of the files, including authorities, and when one appears or disappears. */
  readonly fingerprint: string;
  /** Digest of the configuration file alone, for metrics: "sha256:..."; "" without one. */
  readonly fileDigest: string;
  /** @throws {AuthorizationConfigurationError} */
  load(enabledTypes?: ReadonlySet<string>): LoadedConfiguration;
}

export interface LoadSurroundings {
  readonly naming: Naming;
  readonly compile: CompileCondition;
}

/** Reads all files once; `load` reports their errors. */
export async function readConfiguration(
  source: ConfigurationSource,
  { naming, compile }: LoadSurroundings,
): Promise<ReadConfiguration> {
  const main = "file" in source ? await readContent(source.file) : undefined;
  let configuration: AuthorizationConfiguration | undefined;
  let problem: unknown;
  try {
    configuration = "file" in source ? parseMain(source.file, main, naming) : source.configuration;
  } catch (error) {
    problem = error;
  }
  const files = await readWebhookFiles(configuration);
  const clients = await readClients(files, naming);
  const seen = [main, [...files], [...clients].map(([, client]) => client)];
  return {
    fingerprint: digestOf(JSON.stringify(seen, showErrors)),
    fileDigest: main !== undefined && "text" in main ? `sha256:${digestOf(main.text)}` : "",
    load(enabledTypes) {
      if (configuration === undefined) throw problem;
      const conditions = validateAuthorizationConfiguration(configuration, {
        compile,
        files,
        ...(enabledTypes === undefined ? {} : { enabledTypes }),
      });
      return { configuration, conditions, clients };
    },
  };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function showErrors(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}

function parseMain(
  path: string,
  content: ReadFile | undefined,
  naming: Naming,
): AuthorizationConfiguration {
  if (content === undefined || !("text" in content)) {
    throw new AuthorizationConfigurationError(`open ${path}: ${content?.problem}`);
  }
  try {
    return parseAuthorizationConfiguration(content.text, naming);
  } catch (error) {
    if (!(error instanceof AuthorizationConfigurationError)) throw error;
    throw new AuthorizationConfigurationError(`${path}: ${error.message}`, { cause: error });
  }
}

/** Client configurations with their authorities, or their errors. */
async function readClients(
  files: ReadonlyMap<string, ReadFile>,
  naming: Naming,
): Promise<ReadonlyMap<string, ClientConfig | ClientConfigError>> {
  const clients = new Map<string, ClientConfig | ClientConfigError>();
  for (const [path, content] of files) {
    if (!("text" in content)) continue;
    try {
      clients.set(path, await parseClientConfig(content.text, { path, naming }));
    } catch (error) {
      if (!(error instanceof ClientConfigError)) throw error;
      clients.set(path, error);
    }
  }
  return clients;
}

async function readWebhookFiles(
  configuration: AuthorizationConfiguration | undefined,
): Promise<ReadonlyMap<string, ReadFile>> {
  const files = new Map<string, ReadFile>();
  for (const { webhook } of configuration?.authorizers ?? []) {
    const path = webhook?.connectionInfo.kubeConfigFile ?? "";
    if (path !== "" && !files.has(path)) files.set(path, await readContent(path));
  }
  return files;
}

async function readContent(path: string): Promise<ReadFile> {
  try {
    if (!(await stat(path)).isFile()) return { problem: "must be a regular file", isOther: true };
    return { text: await readFile(path, "utf8") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { problem: "no such file or directory" };
    return { problem: code === "EACCES" ? "permission denied" : String(code) };
  }
}
