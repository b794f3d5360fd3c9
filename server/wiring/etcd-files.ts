/**
 * The files that connections to etcd use: authorities, the client's certificate with its key, and a password. They are
 * read for each new connection and log-in, so that files may be replaced while the replica runs; connections that are
 * open stay. Contents that cannot be used, such as half of a new pair, are left out until they can.
 */
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import type { EtcdCredentials } from "../../storage/etcd/etcd3-log-in.js";
import type { EtcdTls } from "../../storage/etcd/tls.js";
import { warnOfAuthorities } from "../client/authorities.js";
import type { Config } from "../config/config.js";

type EtcdFileFlags = Pick<
  Config,
  "etcdCaFile" | "etcdCertFile" | "etcdKeyFile" | "etcdUsername" | "etcdPasswordFile"
>;

type TlsPart = "ca" | "cert" | "key";

/** undefined without TLS files. @throws {Error} unreadable files */
export function followEtcdTls(config: EtcdFileFlags, logger: Logger): EtcdTls | undefined {
  const { etcdCaFile: ca, etcdCertFile: cert, etcdKeyFile: key } = config;
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== "");
  if (ca === "" && cert === "") return undefined;
  const read = (): Partial<Record<TlsPart, string>> =>
    Object.fromEntries(files.map(([part, file]) => [part, readFileSync(file, "utf8")]));
  const check = (contents: EtcdTls) => {
    createSecureContext(contents);
    if (contents.ca === undefined) return;
    const given = { source: "--etcd-cafile", file: ca, bundle: String(contents.ca) };
    warnOfAuthorities(logger, { ...given, vouchFor: "servers" }, systemClock.now());
  };
  const paths = files.map(([, file]) => file);
  const current = following({ paths, read, check, logger });
  const tls: EtcdTls = {};
  for (const [part] of files) {
    Object.defineProperty(tls, part, {
      enumerable: true,
      get: () => current()[part as TlsPart],
    });
  }
  return tls;
}

/** undefined without a user. @throws {Error} an unreadable file */
export function followEtcdCredentials(
  { etcdUsername: username, etcdPasswordFile: file }: EtcdFileFlags,
  logger: Logger,
): EtcdCredentials | undefined {
  if (username === "") return undefined;
  const read = () => ({ password: readFileSync(file, "utf8").replace(/\r?\n$/, "") });
  const current = following({ paths: [file], read, check: () => {}, logger });
  return {
    username,
    get password() {
      return current().password;
    },
  };
}

interface Following<Contents> {
  readonly paths: readonly string[];
  /** @throws {Error} if a file is not there */
  read(): Contents;
  /** @throws {Error} if new contents cannot be used */
  check(contents: Contents): void;
  readonly logger: Logger;
}

/** Returns the last contents that could be used. What is wrong at the start is for the first connection to say. */
function following<Contents>({ paths, read, check, logger }: Following<Contents>): () => Contents {
  let good = read();
  let seen = JSON.stringify(good);
  try {
    check(good);
  } catch {
    // Opening the store tells.
  }
  return () => {
    try {
      const contents = read();
      const now = JSON.stringify(contents);
      if (now === seen) return good;
      seen = now;
      check(contents);
      good = contents;
      logger.info({ files: paths }, "changed files for etcd are in use");
    } catch (error) {
      logger.warn(
        { files: paths, err: oneLine(error) },
        "changed files for etcd are not usable; the last good ones stay",
      );
    }
    return good;
  };
}
