/** What is served, how many of each, what moves now, the replicas, and turns of the thread that took too long. */
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { countsIn, type Sample, samplesOf } from "../model/metrics-text.js";
import { formatRoute } from "../model/routes.js";
import { type Api, ApiProblem } from "./api.js";
import {
  findType,
  LEASES,
  METADATA_LIST,
  nameOf,
  pathOf,
  REPLICA_LABEL,
  type ServedType,
  SYSTEM_NAMESPACE,
} from "./catalog.js";
import { ControlPlanes } from "./control-planes.js";
import { type Loaded, pause, usePolled } from "./hooks.js";
import { tableOf, type Ui } from "./ui.js";
import { formatAge, formatRate, plural } from "./words.js";

const COUNTS_EVERY_MS = 5_000;
const TURNS_EVERY_MS = 5_000;
/** The recorder calls a client that lists a type ten times a minute a hot loop, and this page is a client. */
const REPLICAS_EVERY_MS = 15_000;
const LISTS_EVERY_MS = 30_000;
/** Lists at a time, where counts are not in metrics that this user may read. */
const LISTS_AT_A_TIME = 3;
const OBJECTS = ["apiserver_resource_objects", "apiserver_storage_objects"] as const;
const REQUESTS = "apiserver_request_total";
const WATCHES = "apiserver_longrunning_requests";
const WRITES = ["POST", "PUT", "PATCH", "DELETE", "APPLY", "CREATE", "UPDATE"];

interface Count {
  readonly objects: number | undefined;
  /** A second; undefined = not known. */
  readonly writes: number | undefined;
  readonly reads: number | undefined;
  readonly watches: number | undefined;
}

interface Counts {
  readonly byType: ReadonlyMap<string, Count>;
  /** Whether rates are known. */
  readonly hasRates: boolean;
}

export function Overview({ ui }: { readonly ui: Ui }) {
  const counter = usePolled(counterOf(ui), COUNTS_EVERY_MS, [ui.api, ui.catalog]);
  return (
    <section class="overview" aria-label="Overview">
      <h1>Overview</h1>
      <Moving ui={ui} counts={counter} />
      <ControlPlanes ui={ui} />
      <Replicas ui={ui} />
      <Turns ui={ui} />
      <Served ui={ui} counts={counter} />
    </section>
  );
}

function Moving({ ui, counts: { value } }: { readonly ui: Ui; readonly counts: Loaded<Counts> }) {
  if (value === undefined || !value.hasRates) return null;
  const moving = ui.catalog.types
    .map((type) => ({ type, rate: value.byType.get(nameOf(type))?.writes ?? 0 }))
    .filter(({ rate }) => rate > 0)
    .sort((a, b) => b.rate - a.rate);
  return (
    <section aria-label="What moves now">
      <h2>What moves now</h2>
      {moving.length === 0 ? (
        <p>Nothing is written at the moment.</p>
      ) : (
        <ul class="cards">
          {moving.map(({ type, rate }) => (
            <li key={nameOf(type)}>
              <a href={formatRoute(tableOf(type))}>{nameOf(type)}</a> {formatRate(rate)} writes/s
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Served({ ui, counts }: { readonly ui: Ui; readonly counts: Loaded<Counts> }) {
  const { catalog } = ui;
  const total = [...(counts.value?.byType.values() ?? [])].reduce(
    (sum, c) => sum + (c.objects ?? 0),
    0,
  );
  const rates = counts.value?.hasRates === true;
  const unknown = counts.value === undefined ? "…" : "not known";
  return (
    <section aria-label="What is served">
      <h2>What is served</h2>
      <p role="status">
        {plural(catalog.types.length, "type")}, {plural(total, "object")}
        {counts.problem !== undefined && `; ${counts.problem}`}
      </p>
      {catalog.problems.map((problem) => (
        <p key={problem} role="alert">
          {problem}
        </p>
      ))}
      <div class="scroll" tabIndex={0} role="region" aria-label="Types">
        <table>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col" class="wide">
                Version
              </th>
              <th scope="col" class="wide">
                Kind
              </th>
              <th scope="col">Objects</th>
              {rates && <th scope="col">Writes/s</th>}
              {rates && <th scope="col">Reads/s</th>}
              {rates && <th scope="col">Watches</th>}
            </tr>
          </thead>
          <tbody>
            {catalog.types.map((type) => {
              const count = counts.value?.byType.get(nameOf(type));
              return (
                <tr key={nameOf(type)}>
                  <th scope="row" class="type" title={nameOf(type)}>
                    <a href={formatRoute(tableOf(type))}>{nameOf(type)}</a>
                  </th>
                  <td class="wide">{type.version}</td>
                  <td class="wide">{type.kind}</td>
                  <Cell text={count?.objects?.toLocaleString("en") ?? unknown} />
                  {rates && <Cell text={formatRate(count?.writes ?? 0)} />}
                  {rates && <Cell text={formatRate(count?.reads ?? 0)} />}
                  {rates && <Cell text={String(count?.watches ?? 0)} />}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** What is not zero is what people look for. */
function Cell({ text }: { readonly text: string }) {
  return <td class={text === "0" ? "number zero" : "number"}>{text}</td>;
}

/** Asks for metrics; where this user may not read them, for a list of one object of each type. */
function counterOf({ api, catalog }: Ui): (signal: AbortSignal) => Promise<Counts> {
  let before: { readonly atMs: number; readonly requests: ReadonlyMap<string, Totals> } | undefined;
  let listed: Counts | undefined;
  return async (signal) => {
    let text: string;
    try {
      text = await api.text("/metrics", signal);
    } catch (error) {
      if (!(error instanceof ApiProblem) || (error.status !== 403 && error.status !== 404))
        throw error;
      if (listed !== undefined) await pause(LISTS_EVERY_MS, signal);
      listed = { byType: await countByLists(api, catalog.types, signal), hasRates: false };
      return listed;
    }
    const atMs = performance.now();
    const found = samplesOf(text, [...OBJECTS, REQUESTS, WATCHES]);
    const [current, older] = OBJECTS.map((name) => countsIn(found.get(name) ?? []));
    const objects = objectsOf(current ?? [], older ?? []);
    const requests = totalsOf(found.get(REQUESTS) ?? []);
    const watches = watchesOf(found.get(WATCHES) ?? []);
    const last = before;
    before = { atMs, requests };
    const rate = (name: string, kind: keyof Totals) => {
      if (last === undefined) return undefined;
      const more = (requests.get(name)?.[kind] ?? 0) - (last.requests.get(name)?.[kind] ?? 0);
      // A replica behind the same address has counters of its own.
      return Math.max(0, more) / Math.max(1, (atMs - last.atMs) / 1000);
    };
    const byType = new Map(
      catalog.types.map((type) => {
        const name = nameOf(type);
        const count = {
          objects: objects.get(name),
          writes: rate(name, "writes"),
          reads: rate(name, "reads"),
          watches: watches.get(name),
        };
        return [name, count] as const;
      }),
    );
    return { byType, hasRates: true };
  };
}

interface Totals {
  readonly writes: number;
  readonly reads: number;
}

function totalsOf(samples: readonly Sample[]): Map<string, Totals> {
  const totals = new Map<string, Totals>();
  for (const { labels, value } of samples) {
    if (labels.verb === "WATCH") continue;
    const name = nameOf({ group: labels.group ?? "", resource: labels.resource ?? "" });
    const { writes = 0, reads = 0 } = totals.get(name) ?? {};
    const isWrite = WRITES.includes(labels.verb ?? "");
    totals.set(
      name,
      isWrite ? { writes: writes + value, reads } : { writes, reads: reads + value },
    );
  }
  return totals;
}

function objectsOf(current: readonly Sample[], older: readonly Sample[]): Map<string, number> {
  const named = current.map(({ labels, value }) => {
    return [nameOf({ group: labels.group ?? "", resource: labels.resource ?? "" }), value] as const;
  });
  const before = older.map(({ labels, value }) => [labels.resource ?? "", value] as const);
  return new Map([...before, ...named]);
}

function watchesOf(samples: readonly Sample[]): Map<string, number> {
  const watches = new Map<string, number>();
  for (const { labels, value } of samples) {
    if (labels.verb !== "WATCH") continue;
    const name = nameOf({ group: labels.group ?? "", resource: labels.resource ?? "" });
    watches.set(name, (watches.get(name) ?? 0) + value);
  }
  return watches;
}

async function countByLists(
  api: Api,
  types: readonly ServedType[],
  signal: AbortSignal,
): Promise<Map<string, Count>> {
  const counts = new Map<string, Count>();
  const waiting = types[Symbol.iterator]();
  const work = async () => {
    for (const type of waiting) {
      const objects = await countByList(api, type, signal);
      counts.set(nameOf(type), {
        objects,
        writes: undefined,
        reads: undefined,
        watches: undefined,
      });
    }
  };
  await Promise.all(Array.from({ length: LISTS_AT_A_TIME }, work));
  return counts;
}

/** undefined = this user may not list them. */
async function countByList(api: Api, type: ServedType, signal: AbortSignal) {
  try {
    const list = await api.get(`${pathOf(type, "")}?limit=1`, signal, METADATA_LIST);
    const more = Number(membersOf(list.metadata)?.remainingItemCount ?? 0);
    return arrayOf(list.items).length + more;
  } catch (error) {
    if (error instanceof ApiProblem && error.status >= 400) return undefined;
    throw error;
  }
}

function Replicas({ ui }: { readonly ui: Ui }) {
  const type = findType(ui.catalog, LEASES);
  const leases = usePolled(
    async (signal) => {
      if (type === undefined) return [];
      const query = `?labelSelector=${encodeURIComponent(REPLICA_LABEL)}`;
      const list = await ui.api.get(pathOf(type, SYSTEM_NAMESPACE) + query, signal);
      return arrayOf(list.items).map((one) => membersOf(one) ?? {});
    },
    REPLICAS_EVERY_MS,
    [ui.api, type],
  );
  return (
    <section aria-label="Replicas">
      <h2>Replicas of the API server</h2>
      {leases.problem !== undefined && <p>{leases.problem}</p>}
      {leases.value?.length === 0 && <p>None has announced itself.</p>}
      <ul class="cards">
        {leases.value?.map((lease) => (
          <Replica key={textOf(membersOf(lease.metadata)?.name)} lease={lease} />
        ))}
      </ul>
    </section>
  );
}

function Replica({ lease }: { readonly lease: JsonObject }) {
  const metadata = membersOf(lease.metadata);
  const labels = Object.entries(membersOf(metadata?.labels) ?? {});
  const shown = labels
    .filter(([name]) => !name.endsWith("/identity"))
    .map(([, value]) => textOf(value));
  const renewedAtMs = Date.parse(textOf(membersOf(lease.spec)?.renewTime));
  return (
    <li>
      <strong>{textOf(metadata?.name)}</strong> {shown.join(", ")}
      <br />
      {Number.isNaN(renewedAtMs)
        ? "never renewed"
        : `heard of ${formatAge(renewedAtMs, Date.now())} ago`}
    </li>
  );
}

/** A page of Keelson's own, for whoever may read it. */
function Turns({ ui }: { readonly ui: Ui }) {
  const turns = usePolled(
    async (signal) => {
      const page = await ui.api.get("/debug/turns", signal);
      return arrayOf(page.longTurns).map((one) => membersOf(one) ?? {});
    },
    TURNS_EVERY_MS,
    [ui.api],
  );
  if (turns.value === undefined) return null;
  return (
    <section aria-label="Turns that took too long">
      <h2>Turns that took too long</h2>
      {turns.value.length === 0 ? (
        <p>No turn of the event loop has taken 50 ms or more.</p>
      ) : (
        <details>
          <summary>
            {plural(turns.value.length, "turn")} of 50 ms or more, the longest of{" "}
            {Math.max(...turns.value.map(({ turnMs }) => Number(turnMs)))} ms
          </summary>
          <TurnList turns={turns.value} />
        </details>
      )}
    </section>
  );
}

function TurnList({ turns }: { readonly turns: readonly JsonObject[] }) {
  return (
    <ul>
      {turns.map((turn) => (
        <li key={textOf(turn.at)}>
          {String(turn.turnMs)} ms at {textOf(turn.at)}: {textOf(turn.verb)} {textOf(turn.resource)}{" "}
          <span class="quiet">
            {plural(Number(turn.requests ?? 0), "request")}, one of {String(turn.requestMs)} ms,
            audit id {textOf(turn.auditId)}
          </span>
        </li>
      ))}
    </ul>
  );
}
