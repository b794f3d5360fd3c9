/**
 * The objects of a type by the server's own columns, live. Only the rows in sight are elements, so ten thousand cost
 * what forty cost; what a watch brings is shown ten times a second at most.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Row } from "../model/live-rows.js";
import { formatRoute, type Route } from "../model/routes.js";
import { nameOf, pathOf, type ServedType } from "./catalog.js";
import { useLoaded, useWork } from "./hooks.js";
import { type Column, feedTable, type LiveTable, type TableState } from "./table-feed.js";
import type { Ui } from "./ui.js";
import { formatAge, plural } from "./words.js";

type TableRoute = Extract<Route, { view: "table" }>;

/** As page.css has it. */
const ROW_PX = 28;
/** Above and below what is in sight, so that scrolling shows no gap. */
const SPARE_ROWS = 10;
const SHOW_EVERY_MS = 100;
/** How long a row that moved is marked. */
const MARKED_MS = 2_000;
/** Rows that the widths of columns are taken from. */
const MEASURED_ROWS = 200;
const WIDTH_MIN = 5;
const WIDTH_MAX = 48;

export function TableView(props: {
  readonly ui: Ui;
  readonly type: ServedType;
  readonly route: TableRoute;
}) {
  const { ui, type, route } = props;
  const { namespace, labels, fields } = route;
  const [filter, setFilter] = useState("");
  const { table, state = "listing" } =
    useTable(ui, { path: pathOf(type, namespace), labels, fields }) ?? {};
  const rows = table?.rows.matching(filter) ?? [];
  const all = table?.rows.all.length ?? 0;
  return (
    <section class="table-view" aria-label={nameOf(type)}>
      <header>
        <h1>{type.kind}</h1>
        <p role="status">
          {filter === "" ? plural(all, "object") : `${rows.length} of ${plural(all, "object")}`},{" "}
          {state}
        </p>
      </header>
      <Selectors ui={ui} type={type} route={route} filter={filter} setFilter={setFilter} />
      {table !== undefined && (
        <Grid
          label={nameOf(type)}
          columns={columnsOf(type, namespace, table)}
          rows={rows}
          routeOf={(row) => objectRoute(type, row)}
          open={(row) => {
            ui.opened.set(nameOf(type), keyOf(row));
            ui.go(objectRoute(type, row));
          }}
          opened={ui.opened.get(nameOf(type))}
        />
      )}
    </section>
  );
}

function objectRoute({ group, resource }: ServedType, { namespace, name }: Row): Route {
  return { view: "object", type: { group, resource }, namespace, name, tab: "yaml" };
}

/** Shown ten times a second at most, and in the background not at all. */
function useTable(ui: Ui, query: { path: string; labels: string; fields: string }) {
  const [shown, setShown] = useState<TableState | undefined>(undefined);
  useWork(
    async (signal) => {
      let latest: TableState | undefined;
      let isDue = false;
      let shownAtMs = Number.NEGATIVE_INFINITY;
      const show = () => {
        isDue = false;
        shownAtMs = performance.now();
        if (latest !== undefined && !signal.aborted) setShown({ ...latest });
      };
      const changed = (state: TableState) => {
        latest = state;
        if (isDue) return;
        isDue = true;
        const waitMs = Math.max(0, shownAtMs + SHOW_EVERY_MS - performance.now());
        setTimeout(() => requestAnimationFrame(show), waitMs);
      };
      await feedTable(ui.api, query, changed, signal);
    },
    [ui.api, query.path, query.labels, query.fields],
  );
  return shown;
}

function Selectors(props: {
  readonly ui: Ui;
  readonly type: ServedType;
  readonly route: TableRoute;
  readonly filter: string;
  readonly setFilter: (text: string) => void;
}) {
  const { ui, type, route, filter, setFilter } = props;
  const namespaces = useLoaded(
    async (signal) => {
      const list = await ui.api.get("/api/v1/namespaces", signal);
      return (list.items as unknown as { metadata: { name: string } }[]).map(
        (o) => o.metadata.name,
      );
    },
    [ui.api],
  );
  const select = (change: Partial<TableRoute>) => ui.go({ ...route, ...change });
  return (
    <div class="selectors">
      {type.isNamespaced && (
        <label>
          Namespace{" "}
          <select
            value={route.namespace}
            onChange={({ currentTarget }) => select({ namespace: currentTarget.value })}
          >
            <option value="">all</option>
            {[...new Set([...(namespaces.value ?? []), route.namespace])]
              .filter((name) => name !== "")
              .map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
          </select>
        </label>
      )}
      <Field
        label="Labels"
        example="app=web,tier in (a,b)"
        value={route.labels}
        set={(labels) => select({ labels })}
      />
      <Field
        label="Fields"
        example="metadata.name=web"
        value={route.fields}
        set={(fields) => select({ fields })}
      />
      <label>
        Filter{" "}
        <input
          type="search"
          data-key="/"
          placeholder="text in a row (/)"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** Asks the server when its text is complete: with Enter, or when it is left. */
function Field(props: {
  label: string;
  example: string;
  value: string;
  set: (value: string) => void;
}) {
  const { label, example, value, set } = props;
  return (
    <label>
      {label}{" "}
      <input
        type="text"
        spellcheck={false}
        placeholder={example}
        value={value}
        onChange={({ currentTarget }) => set(currentTarget.value.trim())}
      />
    </label>
  );
}

interface ShownColumn extends Column {
  readonly textOf: (row: Row, nowMs: number) => string;
  /** In characters. */
  readonly width: number;
}

/** The server's columns, and the namespace before them where there are several. */
function columnsOf(type: ServedType, namespace: string, table: LiveTable): ShownColumn[] {
  const sample = table.rows.all.slice(0, MEASURED_ROWS);
  const own = table.columns.map((column, at) => {
    const isAge = column.name === "Age";
    const textOf = (row: Row, nowMs: number) =>
      isAge && row.createdAtMs > 0 ? formatAge(row.createdAtMs, nowMs) : (row.cells[at] ?? "");
    return { ...column, textOf };
  });
  const isMixed = type.isNamespaced && namespace === "";
  const place = {
    name: "Namespace",
    description: "",
    priority: 0,
    textOf: (row: Row) => row.namespace,
  };
  return [...(isMixed ? [place] : []), ...own].map((column) => {
    const lengths = sample.map((row) => column.textOf(row, row.createdAtMs).length);
    const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, column.name.length, ...lengths) + 2);
    return { ...column, width };
  });
}

export function Grid(props: {
  readonly label: string;
  readonly columns: readonly ShownColumn[];
  readonly rows: readonly Row[];
  readonly routeOf: (row: Row) => Route;
  readonly open: (row: Row) => void;
  /** The row that was opened last. */
  readonly opened: string | undefined;
}) {
  const { label, columns, rows, routeOf, open, opened } = props;
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 800 });
  const [active, setActive] = useState<string | undefined>(opened);
  const activeAt = Math.max(
    0,
    rows.findIndex((row) => keyOf(row) === active),
  );
  useEffect(() => {
    const grid = box.current;
    if (grid === null) return undefined;
    const look = () => setPlace({ top: grid.scrollTop, height: grid.clientHeight });
    const resized = new ResizeObserver(look);
    resized.observe(grid);
    if (opened !== undefined) {
      reveal(grid, activeAt);
      grid.focus();
    }
    grid.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      grid.removeEventListener("scroll", look);
    };
  }, []);
  const first = Math.max(0, Math.floor(place.top / ROW_PX) - SPARE_ROWS);
  const last = Math.min(rows.length, Math.ceil((place.top + place.height) / ROW_PX) + SPARE_ROWS);
  const nowMs = Date.now();
  const template = columns.map(({ width }) => `minmax(${width}ch, ${width}fr)`).join(" ");
  const rowStyle = { gridTemplateColumns: `2ch ${template}` };
  const move = (to: number) => {
    const at = Math.min(rows.length - 1, Math.max(0, to));
    const row = rows[at];
    if (row === undefined || box.current === null) return;
    setActive(keyOf(row));
    reveal(box.current, at);
  };
  const perPage = Math.max(1, Math.floor(place.height / ROW_PX) - 2);
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(active === undefined ? 0 : activeAt + 1),
    ArrowUp: () => move(activeAt - 1),
    PageDown: () => move(activeAt + perPage),
    PageUp: () => move(activeAt - perPage),
    Home: () => move(0),
    End: () => move(rows.length - 1),
    Enter: () => rows[activeAt] !== undefined && open(rows[activeAt]),
  };
  const pressed = (event: KeyboardEvent) => {
    const action = moves[event.key];
    if (action === undefined || event.target !== box.current) return;
    event.preventDefault();
    action();
  };
  const isActiveInSight = activeAt >= first && activeAt < last && rows.length > 0;
  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      {...(isActiveInSight && { "aria-activedescendant": `row-${activeAt}` })}
      onKeyDown={pressed}
    >
      <div role="rowgroup" class="grid-head">
        <div role="row" aria-rowindex={1} class="row" style={rowStyle}>
          <span role="presentation" />
          {columns.map(({ name, description }, at) => (
            <span key={`${at}${name}`} role="columnheader" title={description}>
              {name}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="grid-rows" style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(first, last).map((row, index) => {
          const at = first + index;
          const hasMoved = row.movedAtMs > nowMs - MARKED_MS;
          return (
            <div
              key={keyOf(row)}
              id={`row-${at}`}
              role="row"
              aria-rowindex={at + 2}
              aria-selected={at === activeAt && active !== undefined}
              class={hasMoved ? "row moved" : "row"}
              style={{ ...rowStyle, top: `${at * ROW_PX}px` }}
              onClick={() => setActive(keyOf(row))}
              onDblClick={() => open(row)}
            >
              <span role="presentation" title={hasMoved ? "has just changed" : undefined}>
                {hasMoved ? "●" : ""}
              </span>
              {columns.map(({ name, textOf }, column) => (
                <span key={`${column}${name}`} role="gridcell" title={textOf(row, nowMs)}>
                  {name === "Name" ? (
                    <a href={formatRoute(routeOf(row))} tabIndex={-1}>
                      {textOf(row, nowMs)}
                    </a>
                  ) : (
                    textOf(row, nowMs)
                  )}
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function keyOf({ namespace, name }: Row): string {
  return `${namespace}/${name}`;
}

function reveal(box: HTMLElement, at: number): void {
  // One row of the height is the head, which stays.
  const [top, bottom] = [at * ROW_PX, (at + 2) * ROW_PX];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (bottom > box.scrollTop + box.clientHeight) box.scrollTop = bottom - box.clientHeight;
}
