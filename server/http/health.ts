/**
 * Health: named checks behind /livez, /readyz and /healthz, each also at its own path
 * (S2-HEALTH-01..12). A check is a function with a deadline that returns or throws. The error is
 * logged; the answer only says that the check failed, as anybody may ask.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { routeNotFound } from "../api/status.js";
import { HealthResults } from "../metrics/health-results.js";
import type { Query } from "../request/query.js";
import type { Document } from "../response/document.js";

export interface HealthCheck {
  /** "etcd", "poststarthook/bootstrap-namespaces". */
  readonly name: string;
  /** Returns when healthy. @throws anything otherwise */
  check(signal: AbortSignal): void | Promise<void>;
  /** A check that takes longer fails. */
  readonly deadlineMs?: number;
  /** Endpoints that list the check under its own name, but do not depend on it. */
  readonly shownAt?: readonly HealthEndpoint[];
}

export type HealthEndpoint = "healthz" | "livez" | "readyz";

export const HEALTH_ENDPOINTS: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];

const CHECK_DEADLINE_MS = 2_000;

const HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
};

interface Outcome {
  readonly check: HealthCheck;
  readonly isExcluded: boolean;
  readonly error: unknown;
}

export class Health {
  readonly results = new HealthResults();
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #livezGraceUntilMs: number;
  readonly #checks: Readonly<Record<HealthEndpoint, HealthCheck[]>> = {
    healthz: [],
    livez: [],
    readyz: [],
  };
  /** Checks that have a path below an endpoint that does not depend on them. */
  readonly #asides: Readonly<Record<HealthEndpoint, HealthCheck[]>> = {
    healthz: [],
    livez: [],
    readyz: [],
  };

  /** @param livezGracePeriodMs how long after now /livez forgives failures (S2-HEALTH-11) */
  constructor(options: { logger: Logger; clock: Clock; livezGracePeriodMs: number }) {
    this.#logger = options.logger;
    this.#clock = options.clock;
    this.#livezGraceUntilMs = options.clock.monotonic() + options.livezGracePeriodMs;
    this.add({ name: "ping", check() {} });
    this.add({ name: "log", check() {} });
  }

  /** Adds a check to all endpoints, or to some; below the others it is available by name. */
  add(check: HealthCheck, endpoints: readonly HealthEndpoint[] = HEALTH_ENDPOINTS): void {
    for (const endpoint of HEALTH_ENDPOINTS) {
      const checks = endpoints.includes(endpoint) ? this.#checks : this.#asides;
      checks[endpoint].push(check);
    }
  }

  /**
   * A check that fails until the returned function is called, for start-up work. Until then it does not
   * fail /livez during the grace period, as a slow start is no reason for a restart.
   */
  addStartCheck(name: string, endpoints?: readonly HealthEndpoint[]): () => void {
    let isFinished = false;
    const check = {
      name,
      check() {
        if (!isFinished) throw new Error("not finished");
      },
    };
    this.add(check, endpoints);
    return () => {
      isFinished = true;
    };
  }

  /** Names of the checks below an endpoint: its own in their order, then the others. */
  names(endpoint: HealthEndpoint): string[] {
    return [...this.#checks[endpoint], ...this.#asides[endpoint]].map(({ name }) => name);
  }

  /** The answer of /livez, /readyz or /healthz. */
  async report(endpoint: HealthEndpoint, query: Query, signal: AbortSignal): Promise<Document> {
    const excluded = new Set(query.getAll("exclude"));
    const known = new Set(this.names(endpoint));
    const isVerbose = query.has("verbose");
    const shown = this.#asides[endpoint].filter(({ shownAt }) => shownAt?.includes(endpoint));
    const asked = [...this.#checks[endpoint], ...(isVerbose ? shown : [])];
    const outcomes = await Promise.all(
      asked.map((check) =>
        excluded.has(check.name)
          ? { check, isExcluded: true, error: undefined }
          : this.#run(endpoint, check, signal),
      ),
    );
    const [failures, ignored] = [[] as Outcome[], [] as Outcome[]];
    for (const outcome of outcomes) {
      const { check, isExcluded, error } = outcome;
      const counts = !isExcluded && !shown.includes(check);
      if (counts) this.results.note(endpoint, check.name, error === undefined);
      if (outcome.error === undefined) continue;
      (shown.includes(outcome.check) ? ignored : failures).push(outcome);
    }
    const lines = outcomes.map(describe);
    for (const { check } of ignored) {
      lines.push(`warn: ${check.name} failed, which does not count for ${endpoint}`);
    }
    const unknown = [...excluded].filter((name) => name !== "" && !known.has(name));
    if (unknown.length > 0) {
      const names = unknown.map((name) => JSON.stringify(name)).join(",");
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
    }
    if (failures.length > 0) {
      for (const { check, error } of failures) {
        this.#logger.warn({ endpoint, check: check.name, err: error }, "health check failed");
      }
      return text(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
    }
    if (!isVerbose) return text(200, "ok");
    // The same last line on all three paths, as specified: nobody parses it.
    return text(200, `${lines.join("\n")}\nhealthz check passed\n`);
  }

  /** The answer of /livez/<name> and the like. @throws {StatusError} 404 for an unknown check */
  async reportOne(endpoint: HealthEndpoint, name: string, signal: AbortSignal): Promise<Document> {
    const checks = [...this.#checks[endpoint], ...this.#asides[endpoint]];
    const check = checks.find((candidate) => candidate.name === name);
    if (check === undefined) throw routeNotFound();
    const { error } = await this.#run(endpoint, check, signal);
    if (error === undefined) return text(200, "ok");
    this.#logger.warn({ endpoint, check: name, err: error }, "health check failed");
    return text(500, "internal server error: reason withheld\n");
  }

  async #run(endpoint: HealthEndpoint, check: HealthCheck, signal: AbortSignal): Promise<Outcome> {
    const deadline = new AbortController();
    const end = AbortSignal.any([deadline.signal, signal]);
    try {
      await Promise.race([
        check.check(end),
        this.#clock.sleep(check.deadlineMs ?? CHECK_DEADLINE_MS, end).then(() => {
          throw new Error("the check took too long");
        }),
      ]);
      return { check, isExcluded: false, error: undefined };
    } catch (error) {
      const isForgiven = endpoint === "livez" && this.#clock.monotonic() < this.#livezGraceUntilMs;
      return { check, isExcluded: false, error: isForgiven ? undefined : error };
    } finally {
      deadline.abort();
    }
  }
}

function describe({ check, isExcluded, error }: Outcome): string {
  if (isExcluded) return `[+]${check.name} excluded: ok`;
  return error === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`;
}

function text(status: number, body: string): Document {
  return { status, headers: HEADERS, body };
}
