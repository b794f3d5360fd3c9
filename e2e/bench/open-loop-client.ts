/**
 * Clients in a process of their own, as those of one process would hold up each other's answers before they are counted.
 * They ask as fast as they are answered, or steadily: then each request is sent at its time, whether the ones before it
 * have been answered or not. Speaks with who forked it.
 */
import { performance } from "node:perf_hooks";
import { Http1Connection } from "./http1-connection.js";

/** Somebody who asks for one path. */
export interface Asker {
  readonly path: string;
  readonly token: string;
}

export type ClientOrder =
  | {
      readonly type: "connect";
      readonly port: number;
      readonly ca: string;
      readonly askers: readonly Asker[];
      /** Requests that each may have open at a time. */
      readonly connections: number;
    }
  | { readonly type: "flood"; readonly forMs: number }
  | { readonly type: "ask"; readonly perSecond: number; readonly forMs: number };

export interface ClientReport {
  /** Milliseconds from a request to the end of its answer. */
  readonly times: readonly number[];
  /** Requests that were not sent, as their asker had too many open. */
  readonly unsent: number;
  /** Answers with another status than 200. */
  readonly refused: number;
  /** Share of the time in which this process worked. */
  readonly busyShare: number;
}

/** An asker's connections. */
class Lanes {
  readonly free: Http1Connection[];
  readonly times: number[] = [];
  readonly #asker: Asker;
  refused = 0;
  unsent = 0;

  constructor(asker: Asker, connections: Http1Connection[]) {
    this.#asker = asker;
    this.free = connections;
  }

  async ask(): Promise<void> {
    const connection = this.free.pop();
    if (connection === undefined) {
      this.unsent++;
      return;
    }
    const sinceMs = performance.now();
    const headers = { Authorization: `Bearer ${this.#asker.token}` };
    const { path } = this.#asker;
    const { status } = await connection.request({ method: "GET", path, headers });
    this.times.push(performance.now() - sinceMs);
    if (status !== 200) this.refused++;
    this.free.push(connection);
  }

  takeTimes(): { times: number[]; refused: number; unsent: number } {
    const taken = { times: this.times.splice(0), refused: this.refused, unsent: this.unsent };
    this.refused = 0;
    this.unsent = 0;
    return taken;
  }
}

/** Of the time between two requests. */
const JITTER = 0.25;

const all: Lanes[] = [];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function connect(order: Extract<ClientOrder, { type: "connect" }>): Promise<void> {
  const { port, ca, askers, connections } = order;
  for (const asker of askers) {
    const opened: Http1Connection[] = [];
    for (let at = 0; at < connections; at++)
      opened.push(await Http1Connection.open({ port, credentials: { ca } }));
    all.push(new Lanes(asker, opened));
  }
}

async function flood(forMs: number): Promise<void> {
  const endMs = performance.now() + forMs;
  await Promise.all(
    all.flatMap((lanes) =>
      Array.from({ length: lanes.free.length }, async () => {
        while (performance.now() < endMs) await lanes.ask();
      }),
    ),
  );
}

/** Each asks at its own times: about as long after each other, and not in step with the others. */
async function askSteadily(perSecond: number, forMs: number): Promise<void> {
  const everyMs = 1_000 / perSecond;
  const beganMs = performance.now();
  const asked: Promise<void>[] = [];
  const due = all.map(() => beganMs + Math.random() * everyMs);
  for (let nowMs = beganMs; nowMs - beganMs < forMs; nowMs = performance.now()) {
    for (const [at, lanes] of all.entries()) {
      for (let dueMs = due[at] ?? nowMs; dueMs < nowMs; dueMs = due[at] ?? nowMs) {
        asked.push(lanes.ask());
        due[at] = dueMs + everyMs * (1 + JITTER * (2 * Math.random() - 1));
      }
    }
    await pause(1);
  }
  await Promise.all(asked);
}

async function obey(order: ClientOrder): Promise<void> {
  const before = performance.eventLoopUtilization();
  if (order.type === "connect") await connect(order);
  else if (order.type === "flood") await flood(order.forMs);
  else await askSteadily(order.perSecond, order.forMs);
  const taken = all.map((lanes) => lanes.takeTimes());
  const report: ClientReport = {
    times: taken.flatMap(({ times }) => times),
    unsent: taken.reduce((sum, { unsent }) => sum + unsent, 0),
    refused: taken.reduce((sum, { refused }) => sum + refused, 0),
    busyShare: performance.eventLoopUtilization(before).utilization,
  };
  process.send?.(report);
}

process.on("message", (order: ClientOrder) => void obey(order));
