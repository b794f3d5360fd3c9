/** The metric of clients' certificates, under kube-apiserver's name: for how long those that are shown are valid still. */
import type { MetricFamilies } from "../request/metric-families.js";

const [HOUR, DAY] = [3_600, 86_400];
const SECONDS = [
  ...[0, HOUR / 2, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR],
  ...[1, 2, 4, 7, 30, 90, 180, 360].map((days) => days * DAY),
];

/** @returns what takes the seconds that are left of a certificate, for each request that shows one */
export function createRemainingLifetime(families: MetricFamilies): (seconds: number) => void {
  const cell = families
    .histogram({
      name: "apiserver_client_certificate_expiration_seconds",
      help: "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
      buckets: SECONDS,
    })
    .cell();
  return (seconds) => cell.observe(seconds);
}
