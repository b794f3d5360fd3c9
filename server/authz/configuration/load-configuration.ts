/**
 * Reads an AuthorizationConfiguration with everything that it names: the file of the flag, and the
 * client configuration of each webhook. What comes out is complete, valid and has a fingerprint.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Naming } from "../../api/naming.js";
import { ClientConfigError } from "../../client/client-config.js";
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

/** Where the configuration comes from: a file that may change, or flags that do not. */
export type ConfigurationSource =
  | { readonly file: string }
  | { readonly configuration: AuthorizationConfiguration };

export interface LoadedConfiguration {
  readonly configuration: AuthorizationConfiguration;
  readonly conditions: ConditionsByAuthorizer;
  /** The texts of the client configurations, by path. */
  readonly files: ReadonlyMap<string, ReadFile>;
}

export interface ReadConfiguration {
  /** Changes with any byte of any of the files, and when one goes or comes. */
  readonly fingerprint: string;
  /** @throws {AuthorizationConfigurationError} */
  load(enabledTypes?: ReadonlySet<string>): LoadedConfiguration;
}

export interface LoadSurroundings {
  readonly naming: Naming;
  readonly compile: CompileCondition;
}

/** Reads all files once; what is wrong with them is said by `load`. */
export async function readConfiguration(
  source: ConfigurationSource,
  { naming, compile }: LoadSurroundings,
): Promise<ReadConfiguration> {
  const digest = createHash("sha256");
  let configuration: AuthorizationConfiguration | undefined;
  let problem: unknown;
  try {
    configuration =
      "file" in source ? await readMain(source.file, naming, digest) : source.configuration;
  } catch (error) {
    problem = error;
    digest.update(String(error));
  }
  const files = await readWebhookFiles(configuration);
  for (const [path, content] of files) digest.update(JSON.stringify([path, content]));
  return {
    fingerprint: digest.digest("hex"),
    load(enabledTypes) {
      if (configuration === undefined) throw problem;
      const conditions = validateAuthorizationConfiguration(configuration, {
        compile,
        files,
        ...(enabledTypes === undefined ? {} : { enabledTypes }),
      });
      return { configuration, conditions, files };
    },
  };
}

async function readMain(
  path: string,
  naming: Naming,
  digest: { update(text: string): unknown },
): Promise<AuthorizationConfiguration> {
  const content = await readContent(path);
  if (!("text" in content)) {
    throw new AuthorizationConfigurationError(`open ${path}: ${content.problem}`);
  }
  digest.update(content.text);
  try {
    return parseAuthorizationConfiguration(content.text, naming);
  } catch (error) {
    if (!(error instanceof AuthorizationConfigurationError)) throw error;
    throw new AuthorizationConfigurationError(`${path}: ${error.message}`, { cause: error });
  }
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

/** The message of a webhook's client configuration that cannot be used, with the webhook's name. */
export function clientConfigProblem(name: string, error: unknown): unknown {
  if (!(error instanceof ClientConfigError)) return error;
  const message = `authorizer ${JSON.stringify(name)}: ${error.message}`;
  return new AuthorizationConfigurationError(message, { cause: error });
}
