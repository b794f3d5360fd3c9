/** What each client has done in a while, out of what was recorded. Pure. */
import type { Timeline } from "../../recorder/record-types.js";
import { clientName } from "./timeline.js";

export interface Activity {
  readonly client: string;
  readonly writes: number;
  /** Of the writes: those that changed nothing. */
  readonly unchanged: number;
  readonly conflicts: number;
  /** Answered with 429: too many. */
  readonly throttled: number;
  readonly refused: number;
  readonly lists: number;
  /** That were open. */
  readonly watches: number;
  /** That went out to its watches. */
  readonly events: number;
}

const THROTTLED = 429;

/** The busiest first. @param sinceMs milliseconds of 1970: lists of before do not count */
export function activityOf(timeline: Timeline, sinceMs: number): Activity[] {
  const clients = new Map(timeline.clients.map((client) => [client.id, clientName(client)]));
  const found = new Map<string, { -readonly [key in keyof Activity]: Activity[key] }>();
  const of = (id: string) => {
    const client = clients.get(id) ?? clientName(undefined);
    const known = found.get(client) ?? { client, ...NOTHING };
    found.set(client, known);
    return known;
  };
  for (const { client, outcome, status } of timeline.writes) {
    const one = of(client);
    one.writes++;
    if (outcome === "unchanged") one.unchanged++;
    if (outcome === "conflict") one.conflicts++;
    else if (status === THROTTLED) one.throttled++;
    else if (outcome === "refused") one.refused++;
  }
  for (const { client, verb, time, endTime, status } of timeline.reads) {
    const one = of(client);
    if (status === THROTTLED) one.throttled++;
    if (verb === "watch" && endTime === "") one.watches++;
    if (verb === "list" && Date.parse(time) >= sinceMs) one.lists++;
  }
  const readers = new Map(timeline.reads.map(({ id, client }) => [id, client]));
  for (const { read, time } of timeline.deliveries) {
    const client = readers.get(read);
    if (client !== undefined && Date.parse(time) >= sinceMs) of(client).events++;
  }
  return [...found.values()].sort((a, b) => weight(b) - weight(a));
}

const NOTHING = {
  writes: 0,
  unchanged: 0,
  conflicts: 0,
  throttled: 0,
  refused: 0,
  lists: 0,
  watches: 0,
  events: 0,
};

function weight({ writes, lists, events }: Activity): number {
  return writes + lists + events;
}
