/** Who does how much: rates, conflicts, throttling of each client in the last minute, and hot loops by name. */
import { type Activity, activityOf } from "../model/activity.js";
import { formatRoute } from "../model/routes.js";
import { objectName } from "../model/timeline.js";
import { usePolled } from "./hooks.js";
import { EVERYTHING, readLoops, readTimeline } from "./recorded.js";
import type { Ui } from "./ui.js";
import { formatRate } from "./words.js";

const EVERY_MS = 5_000;
const WINDOW_MS = 60_000;
const WRITES_MAX = "5000";

const COLUMNS: readonly (readonly [keyof Activity, string, "rate" | "count"])[] = [
  ["writes", "Writes/s", "rate"],
  ["unchanged", "Changed nothing", "count"],
  ["conflicts", "Conflicts", "count"],
  ["throttled", "Throttled", "count"],
  ["refused", "Refused", "count"],
  ["lists", "Lists/s", "rate"],
  ["watches", "Open watches", "count"],
  ["events", "Events/s", "rate"],
];

export function ClientsView({ ui }: { readonly ui: Ui }) {
  return (
    <section aria-label="Clients" class="overview clients">
      <h1>Clients</h1>
      <HotLoops ui={ui} />
      <Activities ui={ui} />
    </section>
  );
}

function HotLoops({ ui }: { readonly ui: Ui }) {
  const found = usePolled((signal) => readLoops(ui.api, signal), EVERY_MS, [ui.api]);
  if (found.value === undefined) return null;
  const { loops } = found.value;
  return (
    <section aria-label="Hot loops">
      <h2>Hot loops</h2>
      {loops.length === 0 && <p role="status">No client works in vain.</p>}
      <ul class="cards">
        {loops.map((loop) => {
          const { type, group, resource, namespace, name, message, perSecond, path } = loop;
          const place = { view: "object", type: { group, resource }, namespace, name } as const;
          return (
            <li key={`${type}${resource}${namespace}${name}${path}${loop.clients.join()}`}>
              <strong>{type}</strong> {formatRate(perSecond)}/s: {message}{" "}
              {name !== "" && (
                <a href={formatRoute({ ...place, tab: "why" })}>{objectName(loop)}</a>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Activities({ ui }: { readonly ui: Ui }) {
  const activities = usePolled(
    async (signal) => {
      const sinceMs = Date.now() - WINDOW_MS;
      const more = { sinceMs: String(sinceMs), limit: WRITES_MAX };
      return activityOf(await readTimeline(ui.api, EVERYTHING, more, signal), sinceMs);
    },
    EVERY_MS,
    [ui.api],
  );
  return (
    <section aria-label="The last minute">
      <h2>The last minute</h2>
      {activities.problem !== undefined && <p role="status">{activities.problem}</p>}
      {activities.value !== undefined && (
        <div class="scroll" tabIndex={0} role="region" aria-label="What clients did">
          <table>
            <thead>
              <tr>
                <th scope="col">Client</th>
                {COLUMNS.map(([key, title]) => (
                  <th key={key} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {activities.value.map((one) => (
                <tr key={one.client}>
                  <th scope="row">{one.client}</th>
                  {COLUMNS.map(([key, , form]) => (
                    <td key={key} class="number">
                      {form === "rate"
                        ? formatRate(Number(one[key]) / (WINDOW_MS / 1000))
                        : one[key]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
