/** Wiring of a webhook's client: its client configuration is a file, which is followed. */
import { readFile } from "node:fs/promises";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Naming } from "../api/naming.js";
import { runFileWatch } from "../certificates/file-watch.js";
import { warnOfAuthorities } from "../client/authorities.js";
import { parseClientConfig } from "../client/client-config.js";
import { FollowedClient } from "../client/followed-client.js";
import type { ObserveReload } from "./count-reloads.js";

export interface FollowedWebhook {
  readonly client: FollowedClient;
  /** A changed file is in use for the next call; one that cannot be used changes nothing. */
  spawn(lifecycle: Lifecycle, onReload: ObserveReload): void;
}

export interface FollowedWebhookParts {
  readonly file: string;
  readonly naming: Naming;
  /** The time limit of one call. */
  readonly timeoutMs: number;
  /** PEM bundles to trust if the file has none. */
  readonly defaultAuthorities?: readonly string[];
  readonly logger: Logger;
}

/** Does not connect yet. The caller must close the client. @throws {ClientConfigError} with one line */
export async function openFollowedWebhook(parts: FollowedWebhookParts): Promise<FollowedWebhook> {
  const { file, naming, logger, timeoutMs, defaultAuthorities } = parts;
  const clock = systemClock;
  const parse = async (text: string) => {
    const config = await parseClientConfig(text, { path: file, naming });
    if (config.ca !== undefined) {
      const given = { source: "certificate-authority", file, bundle: config.ca } as const;
      warnOfAuthorities(logger, { ...given, vouchFor: "servers" }, clock.now());
    }
    return config;
  };
  const first = await readFile(file, "utf8");
  const client = new FollowedClient(await parse(first), {
    clock,
    timeoutMs,
    ...(defaultAuthorities !== undefined && { defaultAuthorities }),
  });
  const apply = async ([text = ""]: readonly string[]) => client.replace(await parse(text));
  return {
    client,
    spawn(lifecycle, onReload) {
      lifecycle.spawn(`client configuration ${file}`, "restart", (signal) =>
        runFileWatch({ files: [file], inForce: [first], clock, logger, onReload, apply }, signal),
      );
    },
  };
}
