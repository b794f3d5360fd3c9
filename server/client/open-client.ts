/** Creates a client from a configuration: its credential source and one pool of connections. */
import type { Clock } from "../../storage/base/clock.js";
import type { ClientConfig, ClientUser } from "./client-config.js";
import { ConfiguredCredentials, type CredentialSource } from "./credentials.js";
import { ExecCredentials, type ExecEnvironment, processEnvironment } from "./exec-credentials.js";
import { HttpsClient } from "./https-client.js";
import type { AnswerLimits } from "./read-answer.js";

export interface OpenClientOptions {
  readonly clock: Clock;
  /** The time limit of one request. */
  readonly timeoutMs: number;
  readonly answerLimits?: AnswerLimits;
  readonly userAgent?: string;
  /** PEM bundles to trust if the configuration has none, for example the machine's. */
  readonly defaultAuthorities?: readonly string[];
  /** The environment of credential plug-ins; default: this process's own. */
  readonly environment?: ExecEnvironment;
}

/** Does not connect yet. The caller must close it. */
export function openClient(config: ClientConfig, options: OpenClientOptions): HttpsClient {
  const { clock, environment = processEnvironment(), ...rest } = options;
  const credentials = createCredentials(config.user, clock, environment);
  return new HttpsClient({ ...rest, endpoint: config, credentials });
}

/** Plug-ins serve only users without other credentials. */
export function createCredentials(
  user: ClientUser,
  clock: Clock,
  environment: ExecEnvironment,
): CredentialSource {
  const { token, basic, certificate, exec } = user;
  const hasOther = token !== undefined || basic !== undefined || certificate !== undefined;
  return exec === undefined || hasOther
    ? new ConfiguredCredentials(user, clock)
    : new ExecCredentials(exec, clock, environment);
}
