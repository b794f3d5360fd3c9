/** From a client configuration to a client: the right source of credentials, one pool of connections. */
import type { Clock } from "../../storage/base/clock.js";
import type { ClientConfig, ClientUser } from "./client-config.js";
import { ConfiguredCredentials, type CredentialSource } from "./credentials.js";
import { ExecCredentials, type ExecEnvironment, processEnvironment } from "./exec-credentials.js";
import { HttpsClient } from "./https-client.js";

export interface OpenClientOptions {
  readonly clock: Clock;
  /** Of one request. */
  readonly timeoutMs: number;
  readonly responseBytesMax?: number;
  readonly userAgent?: string;
  /** PEM bundles to trust where the configuration names none, such as the machine's. */
  readonly defaultAuthorities?: readonly string[];
  /** What credential plug-ins inherit; this process's own unless given. */
  readonly environment?: ExecEnvironment;
}

/** Nothing is connected yet. Whoever opens it closes it. */
export function openClient(config: ClientConfig, options: OpenClientOptions): HttpsClient {
  const { clock, environment = processEnvironment(), ...rest } = options;
  const credentials = createCredentials(config.user, clock, environment);
  return new HttpsClient({ ...rest, endpoint: config, credentials });
}

/** A plug-in is asked only by users without any other credential. */
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
