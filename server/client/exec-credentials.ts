/**
 * ExecCredentials: credentials from a program (S2-EXEC). It runs on first use, after expiry, and after
 * the server has rejected its credentials; in between they are cached. The program reads an
 * ExecCredential from an environment variable and writes one to standard output: a token, a certificate
 * with its key, or both. None of it is logged.
 */
import { spawn } from "node:child_process";
import { createSecureContext } from "node:tls";
import { isatty } from "node:tty";
import type { Clock } from "../../storage/base/clock.js";
import type { CredentialSource, Credentials } from "./credentials.js";
import type { ExecConfig } from "./exec-config.js";
import { type Members, membersOf, optionalText } from "./members.js";
import { SingleFlight } from "./single-flight.js";

/** No credentials are available. The message has the reason and quotes none of the program's output. */
export class ExecError extends Error {
  override readonly name = "ExecError";
}

/** The environment that the program inherits. */
export interface ExecEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly isStdinTerminal: boolean;
  /** Why standard input is unavailable although it is a terminal, for example "it holds a manifest". */
  readonly stdinTakenBy?: string;
}

const OUTPUT_BYTES_MAX = 1024 * 1024;
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** This process's own environment and standard input. */
export function processEnvironment(): ExecEnvironment {
  return { variables: process.env, isStdinTerminal: isatty(0) };
}

interface Issued {
  readonly credentials: Credentials;
  /** Wall clock; undefined = valid until rejected. */
  readonly expiresAtMs: number | undefined;
}

export class ExecCredentials implements CredentialSource {
  readonly #config: ExecConfig;
  readonly #clock: Clock;
  readonly #environment: ExecEnvironment;
  readonly #runs = new SingleFlight<Credentials>();
  #issued: Issued | undefined;

  constructor(config: ExecConfig, clock: Clock, environment: ExecEnvironment) {
    this.#config = config;
    this.#clock = clock;
    this.#environment = environment;
  }

  /** @throws {ExecError} */
  current(signal: AbortSignal): Credentials | Promise<Credentials> {
    const issued = this.#issued;
    if (issued !== undefined && this.#isGood(issued)) return issued.credentials;
    // The program may be interactive: at most one runs at a time.
    return this.#runs.run("", (all) => this.#issue(all), signal);
  }

  rejected(credentials: Credentials): void {
    // The rejection of older credentials does not affect the current ones.
    if (this.#issued?.credentials === credentials) this.#issued = undefined;
  }

  #isGood({ expiresAtMs }: Issued): boolean {
    return expiresAtMs === undefined || this.#clock.now() <= expiresAtMs;
  }

  async #issue(signal: AbortSignal): Promise<Credentials> {
    const isInteractive = this.#isInteractive();
    const output = await this.#run(isInteractive, signal);
    this.#issued = parseExecCredential(output, this.#config.apiVersion);
    return this.#issued.credentials;
  }

  #isInteractive(): boolean {
    const { isStdinTerminal, stdinTakenBy } = this.#environment;
    const isAvailable = isStdinTerminal && stdinTakenBy === undefined;
    switch (this.#config.interactiveMode) {
      case "Never":
        return false;
      case "IfAvailable":
        return isAvailable;
      case "Always": {
        if (isAvailable) return true;
        const why = isStdinTerminal
          ? `standard input is unavailable: ${stdinTakenBy}`
          : "standard input is not a terminal";
        throw new ExecError(`exec plugin cannot support interactive mode: ${why}`);
      }
    }
  }

  #run(isInteractive: boolean, signal: AbortSignal): Promise<string> {
    const { command, args, env, apiVersion, cluster, infoVariable } = this.#config;
    const info = {
      kind: "ExecCredential",
      apiVersion,
      spec: { ...(cluster === undefined ? {} : { cluster }), interactive: isInteractive },
    };
    const variables = {
      ...this.#environment.variables,
      ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      [infoVariable]: JSON.stringify(info),
    };
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], {
        env: variables,
        // Its messages for people go to our standard error.
        stdio: [isInteractive ? "inherit" : "ignore", "pipe", "inherit"],
        signal,
      });
      const chunks: Buffer[] = [];
      let length = 0;
      child.stdout?.on("data", (chunk: Buffer) => {
        length += chunk.length;
        if (length <= OUTPUT_BYTES_MAX) chunks.push(chunk);
        else child.kill("SIGKILL");
      });
      child.once("error", (error: NodeJS.ErrnoException) => {
        reject(signal.aborted ? signal.reason : this.#startFailure(error));
      });
      child.once("close", (code, killedBy) => {
        if (length > OUTPUT_BYTES_MAX) {
          reject(new ExecError(`exec: executable ${command} wrote too much`));
        } else if (code === 0) {
          resolve(Buffer.concat(chunks).toString("utf8"));
        } else {
          const how = code === null ? `was ended by ${killedBy}` : `failed with exit code ${code}`;
          reject(new ExecError(`exec: executable ${command} ${how}`));
        }
      });
    });
  }

  #startFailure({ code, message }: NodeJS.ErrnoException): ExecError {
    const { command, installHint } = this.#config;
    if (code !== "ENOENT") return new ExecError(`exec: executable ${command}: ${code ?? message}`);
    const hint = installHint === "" ? "" : `\n\n${installHint}`;
    return new ExecError(
      `exec: executable ${command} not found\n\n` +
        `It looks like you are trying to use a credential plugin that is not installed.${hint}`,
    );
  }
}

function parseExecCredential(output: string, apiVersion: string): Issued {
  let value: Members;
  try {
    value = membersOf(JSON.parse(output), "output");
  } catch {
    throw new ExecError("decoding stdout: it is not a JSON object");
  }
  if (value.kind !== "ExecCredential") {
    throw new ExecError("decoding stdout: it is not an ExecCredential");
  }
  if (value.apiVersion !== apiVersion) {
    throw new ExecError(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${String(value.apiVersion).slice(0, 100)}`,
    );
  }
  if (value.status === undefined || value.status === null) {
    throw new ExecError("exec plugin didn't return a status field");
  }
  try {
    return readStatus(membersOf(value.status, "status"));
  } catch (error) {
    if (error instanceof ExecError) throw error;
    throw new ExecError(`decoding stdout: ${(error as Error).message}`);
  }
}

function readStatus(status: Members): Issued {
  const token = optionalText(status, "token", "status");
  const cert = optionalText(status, "clientCertificateData", "status");
  const key = optionalText(status, "clientKeyData", "status");
  if (token === undefined && cert === undefined && key === undefined) {
    throw new ExecError("exec plugin didn't return a token or cert/key pair");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new ExecError("exec plugin returned only certificate or key, not both");
  }
  if (token !== undefined && /[^\x21-\x7e]/.test(token)) {
    throw new ExecError("exec plugin returned a token that no header can carry");
  }
  return {
    credentials: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(cert === undefined || key === undefined ? {} : { certificate: checkPair(cert, key) }),
    },
    expiresAtMs: readExpiry(optionalText(status, "expirationTimestamp", "status")),
  };
}

function checkPair(cert: string, key: string): { cert: string; key: string } {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ExecError(`failed parsing client key/certificate: ${code ?? "invalid"}`);
  }
  return { cert, key };
}

function readExpiry(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const expiresAtMs = DATE_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(expiresAtMs)) {
    throw new ExecError("decoding stdout: expirationTimestamp is not an RFC 3339 time");
  }
  return expiresAtMs;
}
