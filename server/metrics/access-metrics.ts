/**
 * Metrics of who was let in: attempts to authenticate and to authorize, by result, and how long they took. Names,
 * labels and buckets are kube-apiserver's (apiserver/pkg/endpoints/filters/metrics.go).
 */
import type { Naming } from "../api/naming.js";
import type { MetricFamilies } from "../request/metric-families.js";

/** `failure`: there is no credential, and nobody is let in without; `error`: there is one, and it is no good. */
export type Authentication = "success" | "failure" | "error";

export type Authorization = "allowed" | "denied" | "no-opinion" | "error";

export interface AccessMetrics {
  /** @param startedMs of `performance.now` @param name of the user; read only on success */
  authenticated(result: Authentication, startedMs: number, name: string): void;
  /** @param startedMs of `performance.now` */
  authorized(result: Authorization, startedMs: number): void;
}

/** 1 ms, doubled up to 16.384 s. */
const SECONDS = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

export function createAccessMetrics(
  families: MetricFamilies,
  { systemPrefix, systemNamespace }: Pick<Naming, "systemPrefix" | "systemNamespace">,
): AccessMetrics {
  // Names that say nothing about people; the others would make a label each.
  const shown: ReadonlySet<string> = new Set([
    ...["admin", "client", "kubelet", `${systemPrefix}_proxy`],
    `system:serviceaccount:${systemNamespace}:default`,
  ]);
  const shownName = (name: string) =>
    shown.has(name) ? name : name.includes("@") ? "email_id" : "other";
  const users = families.counter({
    name: "authenticated_user_requests",
    help: "Counter of authenticated requests broken out by username.",
    labelNames: ["username"],
  });
  const attempts = families.counter({
    name: "authentication_attempts",
    help: "Counter of authenticated attempts.",
    labelNames: ["result"],
  });
  const durations = families.histogram({
    name: "authentication_duration_seconds",
    help: "Authentication duration in seconds broken out by result.",
    labelNames: ["result"],
    buckets: SECONDS,
  });
  const decisions = families.counter({
    name: "authorization_attempts_total",
    help: "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.",
    labelNames: ["result"],
  });
  const decisionDurations = families.histogram({
    name: "authorization_duration_seconds",
    help: "Authorization duration in seconds broken out by result.",
    labelNames: ["result"],
    buckets: SECONDS,
  });
  const userCells = new Map<string, { value: number }>();
  const authentications = countedBy<Authentication>(attempts, durations);
  const authorizations = countedBy<Authorization>(decisions, decisionDurations);
  return {
    authenticated(result, startedMs, name) {
      if (result === "success") {
        const shown = shownName(name);
        let cell = userCells.get(shown);
        if (cell === undefined) {
          cell = users.cell(shown);
          userCells.set(shown, cell);
        }
        cell.value++;
      }
      authentications(result, startedMs);
    },
    authorized: authorizations,
  };
}

/** Counts and times by result; each request comes here, so the cells are kept. */
function countedBy<Result extends string>(
  counter: ReturnType<MetricFamilies["counter"]>,
  histogram: ReturnType<MetricFamilies["histogram"]>,
): (result: Result, startedMs: number) => void {
  type Cells = {
    readonly count: { value: number };
    readonly seconds: { observe(value: number): void };
  };
  const cells = new Map<Result, Cells>();
  return (result, startedMs) => {
    let known = cells.get(result);
    if (known === undefined) {
      known = { count: counter.cell(result), seconds: histogram.cell(result) };
      cells.set(result, known);
    }
    known.count.value++;
    known.seconds.observe((performance.now() - startedMs) / 1000);
  };
}
