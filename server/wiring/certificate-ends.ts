/**
 * Wiring of the metric that says when certificates end: those that this process shows to others, as the flags name
 * them or as it made them. Read from the files once in a while, as whoever renews them puts them there.
 */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Config } from "../config/config.js";
import { FLAGS } from "../config/flags.js";
import type { Metrics } from "../metrics/metrics.js";

const LOOK_MS = 60_000;

/** Certificate by what it is for: PEM, or the file that has it. */
export type Certificates = Readonly<
  Record<string, { readonly pem: string } | { readonly file: string }>
>;

/** Of bundles of authorities there are none: one of them may have ended, and others count. */
const FILE_FLAGS = [
  "tlsCertFile",
  "etcdCertFile",
  "proxyClientCertFile",
  "kubeletClientCertificate",
] as const;

/** The certificates that flags name, by the flags. */
export function certificateFilesOf(config: Config): Certificates {
  const given = FILE_FLAGS.filter((key) => config[key] !== "");
  return Object.fromEntries(given.map((key) => [FLAGS[key].name, { file: config[key] }]));
}

/** Looks until the lifecycle ends. What cannot be read keeps the end that it had: alerts go on. */
export function spawnCertificateEnds(
  lifecycle: Lifecycle,
  metrics: Metrics,
  certificates: () => Certificates,
): void {
  const ends = new Map<string, number>();
  metrics.gauge(
    {
      name: "apiserver_certificate_expiration_timestamp_seconds",
      help: "When certificates of this process end, by what they are for.",
      labelNames: ["certificate"],
    },
    (set) => {
      for (const [name, seconds] of ends) set(seconds, name);
    },
  );
  lifecycle.spawn("certificate ends", "restart", async (signal) => {
    while (!signal.aborted) {
      for (const [name, source] of Object.entries(certificates())) {
        const end = await readEnd(source);
        if (end !== undefined) ends.set(name, end);
      }
      await systemClock.sleep(LOOK_MS, signal).catch(() => {});
    }
  });
}

/** Seconds since 1970 of the first certificate, which is the one that is shown. */
async function readEnd(source: Certificates[string]): Promise<number | undefined> {
  try {
    const pem = "pem" in source ? source.pem : await readFile(source.file, "utf8");
    return Date.parse(new X509Certificate(pem).validTo) / 1000;
  } catch {
    return undefined;
  }
}
