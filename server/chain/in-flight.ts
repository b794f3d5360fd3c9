/**
 * InFlightLimits: bounds the concurrent requests, reading and mutating ones separately, so that a
 * flood of one kind leaves room for the other (S1-LIM-06). At the bound the answer is 429 with
 * Retry-After. Watches and other long-running requests hold no seat. Privileged users are never
 * refused, so that an administrator gets in when all seats are taken, and neither are probes, so
 * that no busy replica is restarted. In a control plane nobody is privileged: who administers it
 * says there who is in which group.
 */
import { tooManyRequests } from "../api/status.js";
import { HEALTH_ENDPOINTS } from "../http/health.js";
import type { InFlightCounts, Metrics } from "../metrics/metrics.js";
import { isLongRunning, isReadOnly, type RequestInfo } from "../request/request-info.js";
import { bracket, type RequestStep } from "../request/step.js";
import { MASTERS_GROUP, type UserInfo } from "../request/user-info.js";

const RETRY_AFTER_SECONDS = 1;

/** Only the endpoints themselves: the paths below are for people. */
const PROBED_PATHS: ReadonlySet<string> = new Set(HEALTH_ENDPOINTS.map((name) => `/${name}`));

export interface InFlightLimitsOptions {
  readonly readOnlyMax: number;
  readonly mutatingMax: number;
  /** Below the root. */
  readonly isOfControlPlane?: boolean;
}

export class InFlightLimits implements InFlightCounts {
  readonly #readOnlyMax: number;
  readonly #mutatingMax: number;
  readonly isExempt: (user: UserInfo) => boolean;
  #readOnly = 0;
  #mutating = 0;

  /** 0 = no limit. */
  constructor({ readOnlyMax, mutatingMax, isOfControlPlane = false }: InFlightLimitsOptions) {
    this.#readOnlyMax = readOnlyMax;
    this.#mutatingMax = mutatingMax;
    this.isExempt = ({ groups }) => !isOfControlPlane && groups.includes(MASTERS_GROUP);
  }

  get readOnly(): number {
    return this.#readOnly;
  }

  get mutating(): number {
    return this.#mutating;
  }

  /** Takes a seat; false when all are taken and the request must be refused. */
  enter(isMutating: boolean, isExempt: boolean): boolean {
    if (isMutating) {
      if (!isExempt && this.#mutatingMax > 0 && this.#mutating >= this.#mutatingMax) return false;
      this.#mutating++;
    } else {
      if (!isExempt && this.#readOnlyMax > 0 && this.#readOnly >= this.#readOnlyMax) return false;
      this.#readOnly++;
    }
    return true;
  }

  leave(isMutating: boolean): void {
    if (isMutating) this.#mutating--;
    else this.#readOnly--;
  }
}

export function withInFlightLimit(limits: InFlightLimits, metrics: Metrics): RequestStep {
  return bracket(
    function inFlightLimit({ state: { info, user } }) {
      if (isUnlimited(info)) return undefined;
      if (!limits.enter(!isReadOnly(info), limits.isExempt(user))) {
        metrics.countTermination(info, 429);
        throw tooManyRequests("Too many requests, please try again later.", RETRY_AFTER_SECONDS);
      }
      return undefined;
    },
    ({ state: { info } }, failure) => {
      if (!isUnlimited(info)) limits.leave(!isReadOnly(info));
      return failure;
    },
  );
}

function isUnlimited(info: RequestInfo): boolean {
  return isLongRunning(info) || PROBED_PATHS.has(info.path);
}
