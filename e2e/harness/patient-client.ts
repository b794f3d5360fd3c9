/**
 * A client that comes again when the server tells it to, with Retry-After, as client-go does: ten times at most. Programs that act as
 * operators and controllers use it; what tests the server's refusals does not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, HttpsClient, type RequestOptions } from "./https-client.js";

const TRIES_MAX = 10;

export class PatientClient extends HttpsClient {
  override async request(path: string, options: RequestOptions = {}): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const answer = await super.request(path, options);
      const seconds = Number(answer.headers["retry-after"]);
      const isToComeAgain = [429, 503].includes(answer.status) && !Number.isNaN(seconds);
      if (!isToComeAgain || tries === TRIES_MAX) return answer;
      const { signal } = options;
      await sleep(seconds * 1_000, undefined, signal === undefined ? {} : { signal });
    }
  }
}
