/**
 * The bystander: another user, in a process of its own, who gets one small object every 20 ms unless some still wait. Told "mark" by its
 * parent, it says how long it waited at most since the last mark, how often it asked, and what failed. A request
 * that still waits counts with its time so far.
 */
import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";

const EVERY_MS = 20;
/** Requests under way; with more of them it would wait for its own, and be a load itself. */
const UNDER_WAY_MAX = 4;

export interface BystanderPlace {
  readonly url: string;
  readonly path: string;
  readonly token: string;
  /** File of the authority's certificate. */
  readonly caFile: string;
  /** The server's. */
  readonly pid: number;
}

export interface BystanderMark {
  readonly asked: number;
  readonly failed: number;
  readonly longestMs: number;
  /** CPU time of the server's thread within one wait, at most: what others take of the cores is not in it. */
  readonly longestWorkMs: number;
  /** How late this process itself was at most: what the machine adds to every figure. */
  readonly ownLatenessMs: number;
  readonly why: string;
}

/** What was seen since the last mark. */
class Bystander {
  readonly #place: BystanderPlace;
  readonly #agent: Agent;
  /** When each request was sent, and the work of the server's thread until then. */
  readonly #underWay = new Map<number, number>();
  #seen = { asked: 0, failed: 0, longestMs: 0, longestWorkMs: 0, ownLatenessMs: 0, why: "" };
  #dueMs = performance.now() + EVERY_MS;

  constructor(place: BystanderPlace) {
    this.#place = place;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 100, ca: readFileSync(place.caFile) });
    setInterval(() => this.#tick(), EVERY_MS);
  }

  mark(): BystanderMark {
    const nowMs = performance.now();
    const workMs = workOf(this.#place.pid);
    for (const [sinceMs, before] of this.#underWay)
      this.#noteWait(nowMs - sinceMs, workMs - before);
    const seen = this.#seen;
    this.#seen = { asked: 0, failed: 0, longestMs: 0, longestWorkMs: 0, ownLatenessMs: 0, why: "" };
    return seen;
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#seen.ownLatenessMs = Math.max(this.#seen.ownLatenessMs, nowMs - this.#dueMs);
    this.#dueMs = nowMs + EVERY_MS;
    if (this.#underWay.size < UNDER_WAY_MAX) this.#ask(nowMs);
  }

  #ask(sinceMs: number): void {
    const { url, path, token, pid } = this.#place;
    const workBefore = workOf(pid);
    this.#underWay.set(sinceMs, workBefore);
    this.#seen.asked++;
    const end = (failure: string): void => {
      if (!this.#underWay.delete(sinceMs)) return;
      this.#noteWait(performance.now() - sinceMs, workOf(pid) - workBefore);
      if (failure === "") return;
      this.#seen.failed++;
      this.#seen.why = failure;
    };
    const headers = { authorization: `Bearer ${token}` };
    get(url + path, { agent: this.#agent, headers }, (answer) => {
      answer.resume();
      answer.once("end", () => end(answer.statusCode === 200 ? "" : `status ${answer.statusCode}`));
      answer.once("error", (error) => end(error.message));
    }).once("error", (error) => end(error.message));
  }

  #noteWait(ms: number, workMs: number): void {
    this.#seen.longestMs = Math.max(this.#seen.longestMs, ms);
    this.#seen.longestWorkMs = Math.max(this.#seen.longestWorkMs, workMs);
  }
}

/** CPU time of a process's main thread, in milliseconds, as Linux counts it; 0 when it is gone. */
function workOf(pid: number): number {
  try {
    const [ns] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(ns) / 1e6;
  } catch {
    return 0;
  }
}

const bystander = new Bystander(JSON.parse(process.argv[2] ?? "{}") as BystanderPlace);
process.on("message", () => process.send?.(bystander.mark()));
process.once("disconnect", () => process.exit(0));
process.send?.("ready");
