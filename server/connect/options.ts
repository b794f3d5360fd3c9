/**
 * The options of connections, parsed from the query: as objects for admission, and as parameters
 * for node agents. Text is converted as in kube-apiserver.
 */
import { badRequest } from "../api/status.js";
import { booleanParameter, type Query } from "../request/query.js";

/** The streams of a process in a container, for exec and attach. */
export interface StreamOptions {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
  /** For exec only. */
  readonly command?: readonly string[];
}

export interface PortForwardOptions {
  readonly ports?: readonly number[];
}

export interface ProxyOptions {
  readonly path?: string;
}

const STREAM_FLAGS = ["stdin", "stdout", "stderr", "tty"] as const;

/** For exec and attach. */
export function streamOptions(query: Query, hasCommand: boolean): StreamOptions {
  const container = query.get("container") ?? "";
  const command = query.getAll("command");
  return {
    ...Object.fromEntries(
      STREAM_FLAGS.filter((name) => booleanParameter(query, name)).map((name) => [name, true]),
    ),
    ...(container !== "" && { container }),
    ...(hasCommand && { command: [...command] }),
  };
}

/** @throws {StatusError} 400 */
export function portForwardOptions(query: Query): PortForwardOptions {
  const ports = query.getAll("ports").map((text) => integer(text, 32));
  return ports.length === 0 ? {} : { ports };
}

/** Node agents' names for the streams of a process. */
const AGENT_FLAGS = { stdin: "input", stdout: "output", stderr: "error", tty: "tty" } as const;

/** The query for a node agent, without its question mark. */
export function streamParameters(options: StreamOptions): string {
  const parameters = new URLSearchParams();
  for (const text of options.command ?? []) parameters.append("command", text);
  for (const name of STREAM_FLAGS) if (options[name]) parameters.append(AGENT_FLAGS[name], "1");
  return parameters.toString();
}

export function portForwardParameters({ ports = [] }: PortForwardOptions): string {
  return ports.length === 0 ? "" : new URLSearchParams({ port: ports.join(",") }).toString();
}

/** @throws {StatusError} 400 */
export function integer(text: string, bits: 32 | 64): number {
  if (!/^[+-]?\d+$/.test(text)) throw unreadable(text, "invalid syntax");
  const value = BigInt(text.replace("+", ""));
  if (BigInt.asIntN(bits, value) !== value) throw unreadable(text, "value out of range");
  return Number(value);
}

function unreadable(text: string, why: string) {
  return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
}
