/**
 * PausedConnections: those of flows with a backlog, which are not read for a while. What they ask for next waits
 * at the sender, where it costs this process nothing. A request that waits here has been decrypted and parsed,
 * and V8 copies it twice and collects it late, in pauses that everybody shares.
 *
 *     600 connections of a flow, 16 of its requests wait, 2 are at work
 *     one of the 2 is answered      16 others wait, so its connection is paused
 *     one of the 16 begins          15 wait, so 8 connections are read again: those that were paused longest
 *     nobody waits any more         every few milliseconds 8 more are read, as those before had nothing to ask
 *
 * Only connections that no other flow has used: a proxy sends everybody's requests over its own.
 */
import type { TurnPlace } from "./turn-place.js";

/** The part of a socket that is needed here; also its identity. */
export interface PausableConnection {
  pause(): unknown;
  resume(): unknown;
}

interface PausedFlow {
  readonly place: TurnPlace;
  /** The one that was paused longest comes first. */
  readonly connections: PausableConnection[];
}

/** In place of a flow's name, which is never empty. */
const SEVERAL_FLOWS = "";

export class PausedConnections {
  readonly #flows = new Map<string, PausedFlow>();
  /** The flow that uses a connection. */
  readonly #users = new WeakMap<PausableConnection, string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The flow uses the connection. @returns whether no other has */
  isOnlyOf({ flow }: TurnPlace, connection: PausableConnection): boolean {
    const user = this.#users.get(connection);
    if (user === flow) return true;
    this.#users.set(connection, user === undefined ? flow : SEVERAL_FLOWS);
    return user === undefined;
  }

  pause(place: TurnPlace, connection: PausableConnection): void {
    connection.pause();
    const paused = this.#flows.get(place.flow);
    if (paused === undefined) this.#flows.set(place.flow, { place, connections: [connection] });
    else paused.connections.push(connection);
    this.#size++;
  }

  /** Reads so many of the flow's connections again. */
  resume({ flow }: TurnPlace, count: number): void {
    const paused = this.#flows.get(flow);
    if (paused === undefined) return;
    const resumed = paused.connections.splice(0, count);
    for (const connection of resumed) connection.resume();
    this.#size -= resumed.length;
    if (paused.connections.length === 0) this.#flows.delete(flow);
  }

  /** Of flows with paused connections. */
  places(): TurnPlace[] {
    return [...this.#flows.values()].map(({ place }) => place);
  }
}
