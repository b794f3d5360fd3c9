/** Events about an object, newest first. */
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { usePolled } from "./hooks.js";
import type { Shown } from "./ui.js";

/** The recorder calls a client that lists a type ten times a minute a hot loop, and this page is a client. */
const EVERY_MS = 8_000;

export function EventsTab({ ui, object }: Shown) {
  const metadata = membersOf(object.metadata);
  const uid = textOf(metadata?.uid);
  const events = usePolled(
    async (signal) => {
      const selector = encodeURIComponent(`involvedObject.uid=${uid}`);
      const list = await ui.api.get(`/api/v1/events?fieldSelector=${selector}`, signal);
      return arrayOf(list.items)
        .map((one) => membersOf(one) ?? {})
        .sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
    },
    EVERY_MS,
    [ui.api, uid],
  );
  return (
    <section aria-label="Events">
      <h2>Events</h2>
      <p role="status">
        {events.problem ??
          (events.value?.length === 0 ? "There are none, or they have expired." : "")}
      </p>
      <ul class="cards">
        {events.value?.map((event) => (
          <li key={textOf(membersOf(event.metadata)?.uid)}>
            <strong>
              {textOf(event.type)} {textOf(event.reason)}
            </strong>{" "}
            <span class="quiet">
              {timeOf(event)}, by {sourceOf(event)}
              {Number(event.count ?? 1) > 1 && `, ${String(event.count)} times`}
            </span>
            <br />
            {textOf(event.message)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function timeOf({ lastTimestamp, eventTime, metadata }: JsonObject): string {
  return (
    textOf(lastTimestamp) || textOf(eventTime) || textOf(membersOf(metadata)?.creationTimestamp)
  );
}

function sourceOf({ reportingComponent, source }: JsonObject): string {
  return textOf(reportingComponent) || textOf(membersOf(source)?.component) || "somebody";
}
