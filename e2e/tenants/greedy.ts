/**
 * The greedy tenant, a process of its own, so that reading what it asks for slows nobody who measures:
 * asks again as soon as it is answered, over as many connections as it is told, until it is told otherwise.
 * Who is refused comes again after a second, as `Retry-After` says.
 *
 *   parent -> { kind: "lists", lanes: 61 }, later { kind: "none", lanes: 0 }
 *   parent <- { served, refused, failed } for what was done since the last order
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Http1Connection } from "../bench/http1-connection.js";
import { patchOf, type Tenant } from "./tenant.js";

export type GreedyKind = "none" | "lists" | "writes" | "watches";

export interface GreedyOrder {
  readonly kind: GreedyKind;
  readonly lanes: number;
}

export interface GreedyCounts {
  served: number;
  refused: number;
  failed: number;
  why?: string;
}

export interface GreedyTarget {
  readonly port: number;
  readonly ca: string;
  readonly tenant: Tenant;
}

const AGAIN_MS = 1_000;
const NEW_LINE = 10;

class Greedy {
  readonly #target: GreedyTarget;
  readonly #connections = new Set<Http1Connection>();
  #order = 0;
  #counts: GreedyCounts = { served: 0, refused: 0, failed: 0 };
  #next = 0;

  constructor(target: GreedyTarget) {
    this.#target = target;
  }

  /** Ends what is under way. @returns what was done since the last order */
  obey({ kind, lanes }: GreedyOrder): GreedyCounts {
    const counts = this.#counts;
    this.#counts = { served: 0, refused: 0, failed: 0 };
    this.#order++;
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
    if (kind === "none") return counts;
    const ask = { lists: this.#list, writes: this.#write, watches: this.#watch }[kind];
    for (let lane = 0; lane < lanes; lane++) void this.#run(this.#order, ask.bind(this));
    return counts;
  }

  async #run(order: number, ask: (connection: Http1Connection) => Promise<Asked>): Promise<void> {
    let connection: Http1Connection | undefined;
    while (order === this.#order) {
      try {
        connection ??= await this.#open();
        const { status, isOver = false } = await ask(connection);
        if (order !== this.#order) return;
        if (isOver) connection = this.#leave(connection);
        if (status === 200) this.#counts.served++;
        else if (status === 429) {
          this.#counts.refused++;
          await sleep(AGAIN_MS);
        } else throw new Error(`status ${status}`);
      } catch (error) {
        if (order !== this.#order) return;
        this.#counts.failed++;
        this.#counts.why = String(error);
        if (connection !== undefined) connection = this.#leave(connection);
        await sleep(AGAIN_MS);
      }
    }
  }

  async #open(): Promise<Http1Connection> {
    const { port, ca } = this.#target;
    const connection = await Http1Connection.open({ port, credentials: { ca } });
    this.#connections.add(connection);
    return connection;
  }

  #leave(connection: Http1Connection): undefined {
    this.#connections.delete(connection);
    connection.close();
  }

  get #headers() {
    const { token } = this.#target.tenant;
    return { Accept: "application/json", Authorization: `Bearer ${token}` };
  }

  async #list(connection: Http1Connection): Promise<Asked> {
    const { path } = this.#target.tenant;
    const onData = () => {};
    return await connection.request({ method: "GET", path, headers: this.#headers, onData });
  }

  async #write(connection: Http1Connection): Promise<Asked> {
    const { tenant } = this.#target;
    return await connection.request(patchOf(tenant, this.#next++ % tenant.objects));
  }

  /** Takes the state that comes first, leaves, and comes again on a new connection. */
  #watch(connection: Http1Connection): Promise<Asked> {
    const { path, objects } = this.#target.tenant;
    return new Promise((resolve, reject) => {
      let lines = 0;
      const onData = (piece: Buffer) => {
        for (let at = piece.indexOf(NEW_LINE); at >= 0; at = piece.indexOf(NEW_LINE, at + 1)) {
          if (++lines === objects) resolve({ status: 200, isOver: true });
        }
      };
      const headers = this.#headers;
      const request = { method: "GET", path: `${path}?watch=1`, headers, onData };
      connection.request(request).then(({ status }) => resolve({ status }), reject);
    });
  }
}

interface Asked {
  readonly status: number;
  /** The connection is not used again. */
  readonly isOver?: boolean;
}

const greedy = new Greedy(JSON.parse(process.env.GREEDY_TARGET ?? "{}") as GreedyTarget);
process.on("message", (order: GreedyOrder) => process.send?.(greedy.obey(order)));
process.on("disconnect", () => process.exit(0));
