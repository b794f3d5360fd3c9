/**
 * A timeline as SVG, for reports: time runs down, a row for each write with what it was, a lane for each client or
 * each object, and arrows from what led to a write. Shapes, letters and lines say everything that colours say. Pure.
 */
import { xmlText } from "../api/xml-text.js";
import { OUTCOME_LETTERS } from "./outcome-letters.js";
import type { Link, RecordedClient, RecordedWrite, WriteOutcome } from "./record-types.js";

export interface DrawnTimeline {
  readonly title: string;
  readonly lanes: "client" | "object";
  readonly clients: readonly RecordedClient[];
  /** In the order in which they are drawn; the newest ones where there are too many. */
  readonly writes: readonly RecordedWrite[];
  /** Those whose writes are both drawn are arrows. */
  readonly links: readonly Link[];
  /** Ids of the candidates that the chain went on with. */
  readonly followed: ReadonlySet<string>;
}

const ROWS_MAX = 500;
const LANES_MAX = 24;
const ROW = 26;
const LANE = 34;
const LEFT = 130;
const TEXT_CHARS_MAX = 110;

export function drawTimeline(drawn: DrawnTimeline): string {
  const writes = drawn.writes.slice(-ROWS_MAX);
  const clients = new Map(drawn.clients.map((client) => [client.id, client]));
  const lanes = lanesOf(drawn.lanes, writes, clients);
  const top = 96 + lanes.names.length * 18;
  const place = (write: RecordedWrite, row: number): Place => ({
    x: LEFT + (lanes.of(write) + 0.5) * LANE,
    y: top + (row + 0.5) * ROW,
  });
  const places = new Map(writes.map((write, row) => [write.id, place(write, row)]));
  const textX = LEFT + lanes.names.length * LANE + 16;
  const [width, height] = [textX + 860, top + writes.length * ROW + 24];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${xmlText(drawn.title)}">`,
    `<title>${xmlText(drawn.title)}</title>`,
    RULES,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="head" x="16" y="26">${xmlText(drawn.title)}</text>`,
    ...LEGEND.map((line, at) => `<text class="quiet" x="16" y="${46 + at * 18}">${line}</text>`),
    ...lanes.names.map((name, lane) => laneOf(name, lane, { top, height })),
    ...drawn.links.flatMap((link) => arrowOf(link, places, drawn.followed)),
    ...writes.map((write, row) => rowOf(write, place(write, row), textX, writes[row - 1], clients)),
    "</svg>",
    "",
  ];
  return lines.join("\n");
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Light and dark; the marks differ in form and letter as well. */
const RULES = `<style>
text{font:13px system-ui,sans-serif;fill:#1b1f24}.head{font-weight:600;font-size:15px}.quiet{fill:#57606a}.mark{font-weight:700;text-anchor:middle}
.ground{fill:#fff}.lane{stroke:#d0d7de}.shape{fill:#fff;stroke:#1b1f24;stroke-width:1.5}.created,.changed{fill:#ddf4e4}.deleted,.marked{fill:#eee}.conflict,.refused{fill:#ffe3e0}
.arrow{fill:none;stroke:#57606a;stroke-width:1.2}.candidate{stroke-dasharray:4 3}.followed{stroke:#0550ae;stroke-width:2.4}.tip{fill:#57606a}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.quiet{fill:#9da7b3}.lane{stroke:#30363d}.mark{fill:#1b1f24}.followed{stroke:#79c0ff}.arrow{stroke:#9da7b3}.followed.arrow{stroke:#79c0ff}}
</style>`;

const LEGEND = [
  "circle: stored (C created, U changed, M deletion begun, D deleted) · square =: changed nothing · diamond !: refused",
  "solid line: exact · dashed: candidate · thick: followed",
];

function lanesOf(
  kind: DrawnTimeline["lanes"],
  writes: readonly RecordedWrite[],
  clients: ReadonlyMap<string, RecordedClient>,
) {
  const nameOf = (write: RecordedWrite) =>
    kind === "object" ? objectOf(write) : clientName(clients.get(write.client));
  const all = [...new Set(writes.map(nameOf))];
  // The last lane takes the rest.
  const names = all.length > LANES_MAX ? [...all.slice(0, LANES_MAX - 1), "others"] : all;
  const at = new Map(names.map((name, lane) => [name, lane]));
  return { names, of: (write: RecordedWrite) => at.get(nameOf(write)) ?? names.length - 1 };
}

function laneOf(
  name: string,
  lane: number,
  { top, height }: { readonly top: number; readonly height: number },
): string {
  const x = LEFT + (lane + 0.5) * LANE;
  return [
    `<text x="16" y="${86 + lane * 18}">${lane + 1}  ${xmlText(cut(name))}</text>`,
    `<text class="quiet mark" x="${x}" y="${top - 4}">${lane + 1}</text>`,
    `<line class="lane" x1="${x}" y1="${top}" x2="${x}" y2="${height - 16}"/>`,
  ].join("");
}

function arrowOf(
  { write, to, certainty, reasons, by }: Link,
  places: ReadonlyMap<string, Place>,
  followed: ReadonlySet<string>,
): string[] {
  const [from, until] = [places.get(to), places.get(write)];
  if (from === undefined || until === undefined || from === until) return [];
  const isFollowed = followed.has(`${write} ${to}`);
  const names = ["arrow", certainty, ...(isFollowed ? ["followed"] : [])].join(" ");
  const bend = Math.max(LANE, Math.abs(until.x - from.x)) / 2 + 6;
  const path = `M${from.x - 9} ${from.y}C${from.x - bend} ${from.y} ${until.x - bend} ${until.y} ${until.x - 15} ${until.y}`;
  const tip = `M${until.x - 10} ${until.y}l-7 -4v8z`;
  const what = [certainty, by, ...reasons].filter((text) => text !== "").join(", ");
  return [
    `<g><title>${xmlText(what)}</title><path class="${names}" d="${path}"/><path class="tip" d="${tip}"/></g>`,
  ];
}

function rowOf(
  write: RecordedWrite,
  { x, y }: Place,
  textX: number,
  before: RecordedWrite | undefined,
  clients: ReadonlyMap<string, RecordedClient>,
): string {
  const { outcome, time, verb, revision, changedPaths, reason, subresource } = write;
  const sinceMs = before === undefined ? 0 : Date.parse(time) - Date.parse(before.time);
  const when = before === undefined ? time.slice(11, 23) : `+${sinceMs} ms`;
  const target = `${objectOf(write)}${subresource === "" ? "" : ` ${subresource}`}`;
  const fields = changedPaths.join(", ");
  const what = [revision || write.status, verb, target, reason, fields].filter(Boolean).join("  ");
  const title = `${what}, by ${clientName(clients.get(write.client))} at ${time}`;
  return [
    `<g><title>${xmlText(title)}</title>`,
    `<text class="quiet" x="16" y="${y + 4}">${when}</text>`,
    shapeOf(outcome, x, y),
    `<text class="mark" x="${x}" y="${y + 4.5}">${OUTCOME_LETTERS[outcome]}</text>`,
    `<text x="${textX}" y="${y + 4}">${xmlText(cut(what))}</text></g>`,
  ].join("");
}

function shapeOf(outcome: WriteOutcome, x: number, y: number): string {
  const names = `class="shape ${outcome}"`;
  if (outcome === "unchanged")
    return `<rect ${names} x="${x - 9}" y="${y - 9}" width="18" height="18"/>`;
  if (outcome === "refused" || outcome === "conflict") {
    return `<path ${names} d="M${x} ${y - 12}l12 12l-12 12l-12 -12z"/>`;
  }
  return `<circle ${names} cx="${x}" cy="${y}" r="10"/>`;
}

function objectOf({ resource, namespace, name }: RecordedWrite): string {
  return `${resource} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

function clientName(client: RecordedClient | undefined): string {
  if (client === undefined) return "somebody";
  const agent = client.agent.split(" (")[0] || "a client";
  return `${agent} (${client.user})`;
}

function cut(text: string): string {
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}…` : text;
}
