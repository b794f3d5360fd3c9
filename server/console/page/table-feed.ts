/**
 * Feeds a table from a list, a page at a time, and then from its watch, by the server's own columns. Begins again
 * where the watch ends or the server has forgotten its beginning.
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { LiveRows, type Row } from "../model/live-rows.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { type Api, ApiProblem } from "./api.js";
import { TABLE } from "./catalog.js";
import { pause } from "./hooks.js";

export interface Column {
  readonly name: string;
  readonly description: string;
  /** 0 = shown where there is little room as well. */
  readonly priority: number;
}

/** Fills while it is shown: whoever draws rows has the columns that came with them. */
export interface LiveTable {
  columns: readonly Column[];
  readonly rows: LiveRows;
}

export interface TableState {
  readonly table: LiveTable;
  /** "listing", "live", or why it is neither. */
  readonly state: string;
}

export interface TableQuery {
  readonly path: string;
  readonly labels: string;
  readonly fields: string;
}

/** A page is parsed at once: 500 rows are a few milliseconds. */
const PAGE_ROWS = 500;
const GONE = 410;
const FIRST_PAUSE_MS = 500;
const PAUSE_MS_MAX = 10_000;

/** Runs until the signal; `changed` is told whenever there is something to show, as often as it happens. */
export async function feedTable(
  api: Api,
  query: TableQuery,
  changed: (state: TableState) => void,
  signal: AbortSignal,
): Promise<void> {
  const rows = new LiveRows();
  const live: LiveTable = { columns: [], rows };
  let pauseMs = FIRST_PAUSE_MS;
  const tell = (state: string) => changed({ table: live, state });
  while (!signal.aborted) {
    try {
      rows.clear();
      tell("listing");
      let version = await readPages(api, query, signal, (table) => {
        live.columns = columnsOf(table) ?? live.columns;
        for (const row of rowsOf(table, 0)) rows.put(row);
        tell("listing");
      });
      pauseMs = FIRST_PAUSE_MS;
      tell("live");
      while (version !== "") {
        const from = version;
        version = await follow(api, query, from, signal, (type, table) => {
          for (const row of rowsOf(table, Date.now())) {
            if (type === "DELETED") rows.remove(row);
            else rows.put(row);
          }
          rows.changes++;
          tell("live");
        });
        // A server that ends watches at once is not asked in a circle.
        if (version === from) await pause(FIRST_PAUSE_MS, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      tell((error as Error).message);
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX);
    }
  }
}

/** @returns the version of the list */
async function readPages(
  api: Api,
  query: TableQuery,
  signal: AbortSignal,
  take: (table: JsonObject) => void,
): Promise<string> {
  for (let next = ""; ; ) {
    const table = await api.get(
      pathWith(query, { limit: String(PAGE_ROWS), continue: next }),
      signal,
      TABLE,
    );
    take(table);
    const metadata = membersOf(table.metadata);
    next = textOf(metadata?.continue);
    if (next === "") return textOf(metadata?.resourceVersion);
  }
}

/** @returns the version to go on from; "" = list again. @throws {ApiProblem} */
async function follow(
  api: Api,
  query: TableQuery,
  from: string,
  signal: AbortSignal,
  take: (type: string, table: JsonObject) => void,
): Promise<string> {
  let version = from;
  const watch = { watch: "1", allowWatchBookmarks: "true", resourceVersion: from };
  try {
    for await (const line of api.lines(pathWith(query, watch), signal, TABLE)) {
      const { type, object } = line as { type: string; object: JsonObject };
      if (type === "ERROR") throw new ApiProblem(Number(object.code), textOf(object.message));
      const [row] = arrayOf(object.rows);
      const metadata = membersOf(membersOf(membersOf(row)?.object)?.metadata ?? object.metadata);
      version = textOf(metadata?.resourceVersion) || version;
      if (type !== "BOOKMARK") take(type, object);
    }
    return version;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === GONE) return "";
    throw error;
  }
}

function pathWith({ path, labels, fields }: TableQuery, more: Readonly<Record<string, string>>) {
  const all = { labelSelector: labels, fieldSelector: fields, ...more };
  const given = Object.entries(all).filter(([, value]) => value !== "");
  return `${path}?${new URLSearchParams(given)}`;
}

/** undefined = the events of a watch say it once only. */
function columnsOf({ columnDefinitions }: JsonObject): readonly Column[] | undefined {
  const definitions = arrayOf(columnDefinitions).map(membersOf);
  if (definitions.length === 0) return undefined;
  return definitions.map((one) => {
    return {
      name: textOf(one?.name),
      description: textOf(one?.description),
      priority: Number(one?.priority ?? 0),
    };
  });
}

function rowsOf(table: JsonObject, movedAtMs: number): Row[] {
  return arrayOf(table.rows).map((row) => {
    const { cells, object } = membersOf(row) ?? {};
    const metadata = membersOf(membersOf(object)?.metadata);
    return {
      uid: textOf(metadata?.uid),
      namespace: textOf(metadata?.namespace),
      name: textOf(metadata?.name),
      cells: arrayOf(cells).map(cellText),
      createdAtMs: Date.parse(textOf(metadata?.creationTimestamp)) || 0,
      movedAtMs,
    };
  });
}

function cellText(cell: JsonValue): string {
  if (typeof cell === "string") return cell;
  return cell === null || typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}
