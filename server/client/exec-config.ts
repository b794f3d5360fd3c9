/**
 * The `exec` member of a user in a client configuration file: a program that returns credentials
 * (S2-EXEC-01..03, 06). Only parsed and checked here; exec-credentials.ts runs it.
 */
import { resolve } from "node:path";
import type { Naming } from "../api/naming.js";
import { type Members, membersOf, optionalFlag, optionalText, optionalTexts } from "./members.js";

export type InteractiveMode = "Never" | "IfAvailable" | "Always";

export interface ExecConfig {
  /** The command to run; one with a slash is relative to the configuration's directory. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment; the last one wins. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** "client.authentication.<domain>/v1" or ".../v1beta1". */
  readonly apiVersion: string;
  readonly installHint: string;
  readonly interactiveMode: InteractiveMode;
  /** Cluster information for the program; undefined = not requested. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
  /** The environment variable of its input. */
  readonly infoVariable: string;
}

export interface ExecSurroundings {
  readonly directory: string;
  readonly naming: Naming;
  /** The cluster's entry in the file, for its extension. */
  readonly cluster: Members;
  readonly endpoint: {
    readonly server: string;
    readonly ca: string | undefined;
    readonly serverName: string | undefined;
    readonly isInsecure: boolean;
  };
}

const INTERACTIVE_MODES: readonly string[] = ["Never", "IfAvailable", "Always"];

/** @throws {Error} with the messages of other clients */
export function parseExecConfig(
  exec: Members,
  { directory, naming, cluster, endpoint }: ExecSurroundings,
): ExecConfig {
  const command = optionalText(exec, "command", "exec");
  if (command === undefined) throw new Error("exec: command must be specified");
  const group = `client.authentication.${naming.groupDomain}`;
  const apiVersion = optionalText(exec, "apiVersion", "exec");
  if (apiVersion === undefined) throw new Error("exec: apiVersion must be specified");
  if (apiVersion !== `${group}/v1` && apiVersion !== `${group}/v1beta1`) {
    throw new Error(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  }
  return {
    command: resolveCommand(command, directory),
    args: optionalTexts(exec, "args", "exec"),
    env: environmentOf(exec),
    apiVersion,
    installHint: optionalText(exec, "installHint", "exec") ?? "",
    interactiveMode: interactiveModeOf(exec, apiVersion === `${group}/v1beta1`),
    cluster: optionalFlag(exec, "provideClusterInfo", "exec")
      ? clusterInfo(cluster, endpoint, `${group}/exec`)
      : undefined,
    infoVariable: naming.execInfoVariable,
  };
}

/**
 * Bare names are looked up in PATH. A name with a slash is relative to the configuration and made absolute
 * here; otherwise "./login" could become a bare name.
 */
function resolveCommand(command: string, directory: string): string {
  return command.includes("/") ? resolve(directory, command) : command;
}

function interactiveModeOf(exec: Members, hasDefault: boolean): InteractiveMode {
  const mode = optionalText(exec, "interactiveMode", "exec");
  if (mode === undefined) {
    if (hasDefault) return "IfAvailable";
    throw new Error("exec: interactiveMode must be specified to use exec authentication plugin");
  }
  if (!INTERACTIVE_MODES.includes(mode)) {
    throw new Error(`exec: invalid interactiveMode ${JSON.stringify(mode)}`);
  }
  return mode as InteractiveMode;
}

function environmentOf(exec: Members): { name: string; value: string }[] {
  const env = exec.env ?? [];
  if (!Array.isArray(env)) throw new Error("exec.env: expected a list");
  return env.map((entry: unknown, index) => {
    const where = `exec.env[${index}]`;
    const members = membersOf(entry, where);
    const name = optionalText(members, "name", where);
    if (name === undefined) throw new Error("exec: env name must be specified");
    return { name, value: optionalText(members, "value", where) ?? "" };
  });
}

function clusterInfo(
  cluster: Members,
  { server, ca, serverName, isInsecure }: ExecSurroundings["endpoint"],
  extensionName: string,
): Record<string, unknown> {
  const extensions = Array.isArray(cluster.extensions) ? (cluster.extensions as Members[]) : [];
  const config = extensions.find((entry) => entry?.name === extensionName)?.extension;
  return {
    server,
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(isInsecure ? { "insecure-skip-tls-verify": true } : {}),
    ...(ca === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(ca, "utf8").toString("base64") }),
    config: config ?? null,
  };
}
