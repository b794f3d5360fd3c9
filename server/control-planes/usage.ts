/** Usage: the requests and watches of one control plane that are open, its limits on them, and when it was last used. */
import type { Clock } from "../../storage/base/clock.js";
import { tooManyRequests } from "../api/status.js";
import { onResponseEnd } from "../chain/response-end.js";
import { isLongRunning } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { bracket, type RequestStep } from "../request/step.js";
import type { ControlPlaneLimits } from "./control-plane-index.js";

const RETRY_AFTER_SECONDS = 1;

export class Usage {
  /** Requests under way that end soon. */
  requests = 0;
  /** Watches, and what else lasts as long as its client likes. */
  watches = 0;
  /** Requests that were refused, as too many were open. */
  refused = 0;
  /** Milliseconds since 1970. */
  lastUsedMs: number;
  /** Outermost: while a request is open nothing of the control plane is let go. */
  readonly opening: RequestStep;
  /** Behind authentication, so that nobody else uses up the limits, or learns of them. */
  readonly limiting: RequestStep;
  readonly #clock: Clock;
  #open = 0;

  constructor(clock: Clock, limits: () => ControlPlaneLimits) {
    this.#clock = clock;
    this.lastUsedMs = clock.now();
    this.opening = bracket(
      () => {
        this.#open++;
        return undefined;
      },
      (ctx, failure) => {
        onResponseEnd(ctx, () => {
          this.#open--;
        });
        return failure;
      },
    );
    this.limiting = bracket(
      (ctx) => {
        this.#begin(ctx, limits());
        return undefined;
      },
      (ctx, failure) => {
        onResponseEnd(ctx, () => this.#end(ctx));
        return failure;
      },
    );
  }

  /** What the process does with it for somebody: it is in use meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#open++;
    try {
      return await work();
    } finally {
      this.#open--;
      this.lastUsedMs = this.#clock.now();
    }
  }

  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** @throws {StatusError} 429 */
  #begin({ state: { info } }: RequestContext, limits: ControlPlaneLimits): void {
    this.lastUsedMs = this.#clock.now();
    const what = isLongRunning(info) ? "watches" : "requests";
    const max = limits[what];
    if (max !== undefined && this[what] >= max) {
      this.refused++;
      const message = `the control plane has ${this[what]} ${what} open, its limit is ${max}`;
      throw tooManyRequests(message, RETRY_AFTER_SECONDS);
    }
    this[what]++;
  }

  #end({ state: { info } }: RequestContext): void {
    this.lastUsedMs = this.#clock.now();
    this[isLongRunning(info) ? "watches" : "requests"]--;
  }
}
