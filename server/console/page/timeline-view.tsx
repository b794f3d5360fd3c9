/**
 * What was written, by whom, what came of it, and what led to it: the newest writes as rows, clients or objects as lanes. A
 * chosen row tells why it happened. Forms and letters say what colours say, and each row says it in words.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { OUTCOME_LETTERS } from "../../recorder/outcome-letters.js";
import type { RecordedWrite, Timeline, WriteOutcome } from "../../recorder/record-types.js";
import { type DrawnTimeline, drawTimeline, type LaneKind } from "../model/timeline.js";
import { useMatch, usePolled } from "./hooks.js";
import { useKeys } from "./keys.js";
import { type RecordedOf, readTimeline } from "./recorded.js";
import type { Ui } from "./ui.js";
import { WhyPanel } from "./why-panel.js";
import { plural } from "./words.js";

const EVERY_MS = 2_000;
const WRITES = 150;
/** As page.css has the height of a row; the page is narrow where page.css says so. */
const WIDE = { row: 26, lane: 28 };
const NARROW = { row: 60, lane: 21 };
const NARROW_PAGE = "(width < 700px)";

/** The height of the lanes' numbers. */
const HEAD = 26;

type Sizes = typeof WIDE;

export function TimelineView({ ui, of }: { readonly ui: Ui; readonly of: RecordedOf }) {
  const [kind, setKind] = useState<LaneKind>("client");
  const [isPaused, setPaused] = useState(false);
  const [hasHeartbeats, setHeartbeats] = useState(false);
  const [chosen, setChosen] = useState<RecordedWrite | undefined>(undefined);
  const record = useTimeline(ui, of, { isPaused, hasHeartbeats });
  const { value: timeline, problem } = record;
  const sizes = useMatch(NARROW_PAGE) ? NARROW : WIDE;
  const box = useRef<HTMLDivElement>(null);
  const isThere = timeline !== undefined;
  const close = () => {
    setChosen(undefined);
    box.current?.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  };
  useKeys(chosen === undefined ? {} : { Escape: close });
  // The newest are at the end; what the reader scrolls to stays.
  useLayoutEffect(() => box.current?.scrollTo({ top: box.current.scrollHeight }), [isThere]);
  // Why it was written takes room from the rows: the chosen one stays in sight.
  useLayoutEffect(() => {
    box.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  if (timeline === undefined) return <p role="status">{problem ?? "Asking for the record …"}</p>;
  const drawn = drawTimeline(timeline, kind, chosen?.id ?? "");
  return (
    <div class={chosen === undefined ? "timeline" : "timeline explained"}>
      <div class="selectors">
        <label>
          Lanes{" "}
          <select
            value={kind}
            onChange={({ currentTarget }) => setKind(currentTarget.value as LaneKind)}
          >
            <option value="client">by client</option>
            <option value="object">by object</option>
          </select>
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          Pause
        </button>
        <label>
          <input
            type="checkbox"
            checked={hasHeartbeats}
            onChange={({ currentTarget }) => setHeartbeats(currentTarget.checked)}
          />{" "}
          Heartbeats (leases that are only renewed)
        </label>
      </div>
      <p role="status">
        {plural(timeline.writes.length, "write")}, the newest last
        {timeline.hidden > 0 && `; ${timeline.hidden} that you may not read`}
        {timeline.replicas.map(({ address, isAsked, problem: why }) =>
          isAsked ? "" : `; ${address} was not asked: ${why}`,
        )}
        {problem !== undefined && `; ${problem}`}
      </p>
      <p class="quiet">
        ● stored (C created, U changed, M deletion begun, D deleted), ■ = changed nothing, ◆ !
        refused, ▾ its event went out to the lane. Solid arrow: exact; dashed: the likeliest
        candidate.
      </p>
      <Lanes names={drawn.lanes} />
      <div ref={box} class="scroll drawing" tabIndex={0} role="region" aria-label="Writes">
        <div class="drawn">
          <LaneNumbers drawn={drawn} sizes={sizes} />
          <Drawing drawn={drawn} sizes={sizes} />
        </div>
        <Rows drawn={drawn} chosen={chosen} choose={setChosen} />
      </div>
      {chosen !== undefined && <WhyPanel key={chosen.id} ui={ui} write={chosen} close={close} />}
    </div>
  );
}

function useTimeline(
  ui: Ui,
  of: RecordedOf,
  { isPaused, hasHeartbeats }: { readonly isPaused: boolean; readonly hasHeartbeats: boolean },
) {
  const { group, resource, namespace, name } = of;
  const [held, setHeld] = useState<Timeline | undefined>(undefined);
  const polled = usePolled(
    async (signal) => {
      if (isPaused && held !== undefined) return held;
      const more = { limit: String(WRITES), heartbeats: String(hasHeartbeats) };
      const timeline = await readTimeline(ui.api, of, more, signal);
      setHeld(timeline);
      return timeline;
    },
    EVERY_MS,
    [ui.api, group, resource, namespace, name, isPaused, hasHeartbeats],
  );
  return { ...polled, value: polled.value ?? held };
}

function Lanes({ names }: { readonly names: readonly string[] }) {
  return (
    <ol class="lanes" aria-label="Lanes">
      {names.map((name, lane) => (
        <li key={name}>
          <b>{lane + 1}</b> {name}
        </li>
      ))}
    </ol>
  );
}

interface Drawn {
  readonly drawn: DrawnTimeline;
  readonly sizes: Sizes;
}

/** They stay while rows are scrolled. */
function LaneNumbers({ drawn: { lanes }, sizes: { lane: width } }: Drawn) {
  return (
    <svg class="numbers" width={lanes.length * width + 10} height={HEAD} aria-hidden="true">
      {lanes.map((name, lane) => (
        <text key={name} x={(lane + 0.5) * width} y={HEAD * 0.7} class="mark">
          {lane + 1}
        </text>
      ))}
    </svg>
  );
}

function Drawing({ drawn, sizes }: Drawn) {
  const { lanes, rows, arrows } = drawn;
  const x = (lane: number) => (lane + 0.5) * sizes.lane;
  const y = (row: number) => (row + 0.5) * sizes.row;
  const height = rows.length * sizes.row;
  return (
    <svg width={lanes.length * sizes.lane + 10} height={height} aria-hidden="true">
      {lanes.map((name, lane) => (
        <line key={name} x1={x(lane)} y1={0} x2={x(lane)} y2={height} />
      ))}
      {rows.map(({ write, lane, deliveries }, row) =>
        deliveries.map((one) => (
          <g key={`${write.id} ${one.lane}`}>
            <line class="sent" x1={x(lane)} y1={y(row)} x2={x(one.lane)} y2={y(row)} />
            <path class="received" d={`M${x(one.lane) - 5} ${y(row) - 4}h10l-5 8z`} />
          </g>
        )),
      )}
      {arrows.map(({ from, to, link }) => {
        const [x1, y1, x2, y2] = [x(rows[from]?.lane ?? 0), y(from), x(rows[to]?.lane ?? 0), y(to)];
        const bend = Math.max(sizes.lane, Math.abs(x2 - x1)) / 2;
        return (
          <g key={`${link.write} ${link.to} ${link.by}`}>
            <path
              class={`arrow ${link.certainty}`}
              d={`M${x1 + 9} ${y1}C${x1 + bend} ${y1} ${x2 + bend} ${y2} ${x2 + 14} ${y2}`}
            />
            <path class="tip" d={`M${x2 + 9} ${y2}l6 -4v8z`} />
          </g>
        );
      })}
      {rows.map(({ write, lane }, row) => (
        <g key={write.id}>
          <Shape outcome={write.outcome} x={x(lane)} y={y(row)} />
          <text class="mark" x={x(lane)} y={y(row) + 4}>
            {OUTCOME_LETTERS[write.outcome]}
          </text>
        </g>
      ))}
    </svg>
  );
}

function Shape({ outcome, x, y }: { outcome: WriteOutcome; x: number; y: number }) {
  if (outcome === "unchanged")
    return <rect class="shape" x={x - 8} y={y - 8} width={16} height={16} />;
  if (outcome === "conflict" || outcome === "refused") {
    return <path class="shape refused" d={`M${x} ${y - 11}l11 11l-11 11l-11 -11z`} />;
  }
  return <circle class="shape stored" cx={x} cy={y} r={9} />;
}

function Rows(props: {
  readonly drawn: DrawnTimeline;
  readonly chosen: RecordedWrite | undefined;
  readonly choose: (write: RecordedWrite) => void;
}) {
  const { drawn, chosen, choose } = props;
  const { rows } = drawn;
  // One of them is reached by Tab, the others by arrows from there.
  const reached = rows.some(({ write }) => write.id === chosen?.id)
    ? chosen?.id
    : rows.at(-1)?.write.id;
  return (
    <ol class="rows" onKeyDown={moveAmongRows}>
      {rows.map(({ write, deliveries, text, writer }) => {
        const sent = deliveries.map((one) => `${one.lane + 1} after ${one.afterMs} ms`).join(", ");
        return (
          <li key={write.id}>
            <button
              type="button"
              aria-pressed={write.id === chosen?.id}
              tabIndex={write.id === reached ? 0 : -1}
              onClick={() => choose(write)}
            >
              <span class="quiet">{write.time.slice(11, 23)}</span>{" "}
              <span class="revision">{write.revision}</span> <span class="what">{text}</span>{" "}
              <span class="quiet by">by {writer}</span>
              {sent !== "" && <span class="quiet sent-to"> went out to lane {sent}</span>}
            </button>
          </li>
        );
      })}
    </ol>
  );
}

function moveAmongRows(event: KeyboardEvent): void {
  const item = event.target instanceof Element ? event.target.closest("li") : null;
  const { ArrowDown: down, ArrowUp: up } = {
    ArrowDown: item?.nextElementSibling,
    ArrowUp: item?.previousElementSibling,
  };
  const next = event.key === "ArrowDown" ? down : event.key === "ArrowUp" ? up : undefined;
  const button = next?.querySelector("button");
  if (button == null) return;
  event.preventDefault();
  button.focus();
}
