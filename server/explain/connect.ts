/** The connection of a command to the server that a client configuration names. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { systemClock } from "../../storage/base/clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { readClientConfig } from "../client/client-config.js";
import type { HttpsClient } from "../client/https-client.js";
import { openClient } from "../client/open-client.js";
import type { ServerFlags } from "../config/command-flags.js";

/** The deadline of one request: each webhook may take half a minute. */
const REQUEST_TIMEOUT_MS = 120_000;
/** A page of a list, or a thousand rules and the largest object. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

/** @throws {Error} with one line */
export async function connect(
  { kubeconfig, context, server }: ServerFlags,
  userAgent: string,
): Promise<HttpsClient> {
  const path = kubeconfig ?? usualConfig();
  const naming = createNaming(DEFAULT_VENDOR);
  const config = await readClientConfig(path, {
    naming,
    ...(context !== undefined && { context }),
  });
  return openClient(server === undefined ? config : { ...config, server }, {
    clock: systemClock,
    timeoutMs: REQUEST_TIMEOUT_MS,
    answerLimits: { bytes: RESPONSE_BYTES_MAX },
    userAgent,
  });
}

/** The first existing file of those that the variable lists. */
function usualConfig(): string {
  const named = (process.env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  const usual = join(homedir(), ".kube", "config");
  return named.find((path) => existsSync(path)) ?? named[0] ?? usual;
}
