/** Clients: who asks, as the recorder tells them apart: by user, program and address. Their number is bounded. */
import type { Socket } from "node:net";
import type { RequestContext } from "../request/request-state.js";
import type { RecordedClient } from "./record-types.js";

export interface Sender {
  readonly client: RecordedClient;
  /** Counts connections; 0 = none. */
  readonly connection: number;
}

/** Those of before are forgotten, and get other ids when they come again. */
const CLIENTS_MAX = 10_000;
const AGENT_CHARS_MAX = 256;

interface Connection {
  readonly number: number;
  last: RecordedClient | undefined;
}

export class Clients {
  readonly #replica: string;
  readonly #known = new Map<string, RecordedClient>();
  readonly #connections = new WeakMap<Socket, Connection>();
  #count = 0;
  #connectionCount = 0;

  /** @param replica what ids begin with */
  constructor(replica: string) {
    this.#replica = replica;
  }

  /** Those of before this process. @param numbersTaken of ids and connections */
  restore(clients: readonly RecordedClient[], numbersTaken: number): void {
    for (const client of clients) this.#known.set(keyOf(client), client);
    this.#count = numbersTaken;
    this.#connectionCount = numbersTaken;
  }

  /** @param ctx of a request that is authenticated */
  of(ctx: RequestContext): Sender {
    const connection = this.#connectionOf(ctx.req.socket);
    const user = ctx.state.user.name;
    const agent = (ctx.headers["user-agent"] ?? "").slice(0, AGENT_CHARS_MAX);
    const { last } = connection;
    if (last !== undefined && last.user === user && last.agent === agent) {
      return { client: last, connection: connection.number };
    }
    const client = this.#find(user, agent, ctx.req.socket.remoteAddress ?? "");
    connection.last = client;
    return { client, connection: connection.number };
  }

  /** One of the server's own loops. */
  own(user: string, loop: string): Sender {
    const agent = loop === "" ? "keelson" : `keelson ${loop}`;
    return { client: this.#find(user, agent, ""), connection: 0 };
  }

  #find(user: string, agent: string, address: string): RecordedClient {
    const key = keyOf({ user, agent, address });
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= CLIENTS_MAX) this.#known.clear();
    const client = { id: `${this.#replica}-c${++this.#count}`, user, agent, address };
    this.#known.set(key, client);
    return client;
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection = { number: ++this.#connectionCount, last: undefined };
    this.#connections.set(socket, connection);
    return connection;
  }
}

function keyOf({ user, agent, address }: Omit<RecordedClient, "id">): string {
  return `${user}\n${agent}\n${address}`;
}
