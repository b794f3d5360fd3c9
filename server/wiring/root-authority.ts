/**
 * The authorities by which pods and joining machines verify this API: those of the flags' file, which is read
 * again when it changes, or the process's own.
 */
import { readFile } from "node:fs/promises";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { runFileWatch } from "../certificates/file-watch.js";
import { warnOfAuthorities } from "../client/authorities.js";
import type { Config } from "../config/config.js";
import type { ObserveReload } from "./count-reloads.js";
import { requireCertificates } from "./require-certificates.js";

export interface RootAuthorityParts {
  readonly config: Pick<Config, "rootCaFile" | "optionalRootCaFile">;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly onReload: ObserveReload;
  /** PEM: the authority of the process's own certificate. */
  own(): string;
}

/** @returns PEM @throws {Error} of the file system: --root-ca-file cannot be read */
export async function followRootAuthority(parts: RootAuthorityParts): Promise<() => string> {
  const { config, logger, lifecycle, onReload, own } = parts;
  const { rootCaFile, optionalRootCaFile } = config;
  const file = rootCaFile || optionalRootCaFile;
  if (file === "") return own;
  const source = rootCaFile === "" ? "--optional-root-ca-file" : "--root-ca-file";
  let told: string | undefined;
  const tell = (bundle: string) => {
    warnOfAuthorities(logger, { source, file, bundle, vouchFor: "servers" }, systemClock.now());
    told = bundle;
  };
  try {
    tell(await readFile(file, "utf8"));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (rootCaFile !== "" || !isMissing) throw error;
    const what = "there is no such file: pods are told of the replicas' authority";
    logger.info({ source, file }, what);
  }
  const apply = ([bundle = ""]: readonly string[]) => {
    requireCertificates(source, file, bundle);
    tell(bundle);
  };
  const watch = { files: [file], inForce: [told], apply, onReload, clock: systemClock, logger };
  lifecycle.spawn("root authority reload", "restart", (signal) => runFileWatch(watch, signal));
  return () => told ?? own();
}
