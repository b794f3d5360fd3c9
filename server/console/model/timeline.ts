/**
 * What was recorded, as rows and lanes: a row for each write in the order in which they happened, a lane for each client or
 * object. An event of a write that went out to a client is a mark of the write's row in that client's lane. Pure.
 */
import type { Link, RecordedClient, RecordedWrite, Timeline } from "../../recorder/record-types.js";

export type LaneKind = "client" | "object";

export interface TimelineRow {
  readonly write: RecordedWrite;
  readonly lane: number;
  /** Lanes to which its event went out, and how many milliseconds after the write; each once. */
  readonly deliveries: readonly { readonly lane: number; readonly afterMs: number }[];
  /** One sentence without the time. */
  readonly text: string;
  /** Who wrote it, whatever the lanes are. */
  readonly writer: string;
}

export interface TimelineArrow {
  /** Places in the rows: from what led to it. */
  readonly from: number;
  readonly to: number;
  readonly link: Link;
}

export interface DrawnTimeline {
  readonly lanes: readonly string[];
  readonly rows: readonly TimelineRow[];
  readonly arrows: readonly TimelineArrow[];
}

/** Further ones share the last. */
const LANES_MAX = 16;
const PATHS_SHOWN = 4;

/** Arrows are what is exact and the likeliest candidate; of the write `chosen` (an id) all candidates. */
export function drawTimeline(timeline: Timeline, kind: LaneKind, chosen: string): DrawnTimeline {
  const clients = new Map(timeline.clients.map((client) => [client.id, client]));
  const { writes } = timeline;
  const receivers = kind === "client" ? receiversOf(timeline, clients) : new Map<string, never>();
  const named = writes.map((write) =>
    kind === "object" ? objectName(write) : clientName(clients.get(write.client)),
  );
  const delivered = writes.flatMap(({ revision }) => [...(receivers.get(revision)?.keys() ?? [])]);
  const all = [...new Set([...named, ...delivered])];
  const lanes = all.length > LANES_MAX ? [...all.slice(0, LANES_MAX - 1), "others"] : all;
  const laneOf = (name: string) => {
    const lane = lanes.indexOf(name);
    return lane === -1 ? lanes.length - 1 : lane;
  };
  const rows = writes.map((write, at) => {
    const lane = laneOf(named[at] ?? "");
    const sent = [...(receivers.get(write.revision) ?? [])];
    const deliveries = sent.map(([name, timeMs]) => {
      return { lane: laneOf(name), afterMs: Math.max(0, timeMs - Date.parse(write.time)) };
    });
    return {
      write,
      lane,
      deliveries: deliveries.filter((one) => one.lane !== lane),
      text: textOf(write),
      writer: writerName(write, clients.get(write.client)),
    };
  });
  const places = new Map(writes.map(({ id }, at) => [id, at]));
  const arrows = timeline.links.flatMap((link) => {
    const [from, to] = [places.get(link.to), places.get(link.write)];
    const isShown = link.certainty === "exact" || link.rank === 1 || link.write === chosen;
    return from === undefined || to === undefined || !isShown ? [] : [{ from, to, link }];
  });
  return { lanes, rows, arrows };
}

/** By revision, and by the name of a client: when its first event of it went out. */
function receiversOf(
  { reads, deliveries }: Timeline,
  clients: ReadonlyMap<string, RecordedClient>,
): Map<string, Map<string, number>> {
  const names = new Map(reads.map(({ id, client }) => [id, clientName(clients.get(client))]));
  const found = new Map<string, Map<string, number>>();
  for (const { read, revision, time } of deliveries) {
    const name = names.get(read);
    if (name === undefined) continue;
    const known = found.get(revision) ?? new Map<string, number>();
    found.set(revision, known);
    const timeMs = Date.parse(time);
    known.set(name, Math.min(known.get(name) ?? timeMs, timeMs));
  }
  return found;
}

/** "update deployments shop/web status: spec.replicas" */
export function textOf(write: RecordedWrite): string {
  const { verb, subresource, changedPaths, morePaths, reason, outcome } = write;
  const shown = changedPaths.slice(0, PATHS_SHOWN).join(", ");
  const isCut = morePaths || changedPaths.length > PATHS_SHOWN;
  const fields = shown === "" ? "" : `: ${shown}${isCut ? " and more" : ""}`;
  const part = subresource === "" ? "" : ` ${subresource}`;
  const refusal = reason === "" ? "" : ` (${reason})`;
  return `${verb} ${objectName(write)}${part}, ${outcome}${refusal}${fields}`;
}

export function objectName({
  resource,
  namespace,
  name,
}: Pick<RecordedWrite, "resource" | "namespace" | "name">): string {
  return `${resource} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** One program writes under many names: its loops are told by their field managers. */
export function writerName(
  { fieldManager }: Pick<RecordedWrite, "fieldManager">,
  client: RecordedClient | undefined,
): string {
  const name = clientName(client);
  return fieldManager === "" || name.startsWith(`${fieldManager}/`)
    ? name
    : `${fieldManager}, ${name}`;
}

/** Its program and its user; connections of the same are one. */
export function clientName(client: RecordedClient | undefined): string {
  if (client === undefined) return "somebody";
  return `${client.agent.split(" (")[0] || "a client"} as ${client.user}`;
}
