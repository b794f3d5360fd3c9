/** Why a write happened: the chain back to what nothing led to, exact links apart from candidates. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type {
  Explanation,
  Link,
  RecordedClient,
  RecordedWrite,
} from "../../recorder/record-types.js";
import { formatRoute } from "../model/routes.js";
import { objectName, textOf, writerName } from "../model/timeline.js";
import { useLoaded } from "./hooks.js";
import { readWhy } from "./recorded.js";
import type { Ui } from "./ui.js";
import { plural } from "./words.js";

const ENDS: Readonly<Record<Explanation["end"], string>> = {
  outer: "Nothing that is recorded led to it: a person, or something outside.",
  forgotten: "What it was made upon is not kept any more.",
  limit: "The chain is longer than is shown.",
};

export function WhyPanel(props: {
  readonly ui: Ui;
  readonly write: RecordedWrite;
  readonly close: () => void;
}) {
  const { ui, write, close } = props;
  const why = useLoaded(
    async (signal) => (write.revision === "" ? undefined : await readWhy(ui.api, write, signal)),
    [ui.api, write.id],
  );
  const box = useRef<HTMLElement>(null);
  // On a phone it begins below what is in sight.
  useLayoutEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" });
  }, [why.value]);
  const { group, resource, namespace, name } = write;
  const route = {
    view: "object",
    type: { group, resource },
    namespace,
    name,
    tab: "yaml",
  } as const;
  return (
    <section ref={box} aria-label="Why this write happened" class="why">
      <h2>Why: {textOf(write)}</h2>
      <p>
        <a href={formatRoute(route)}>{objectName(write)}</a>{" "}
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
      {write.revision === "" && <p>Nothing was stored: {write.reason || write.outcome}.</p>}
      {why.problem !== undefined && <p role="alert">{why.problem}</p>}
      {why.value !== undefined && <Chain explanation={why.value} />}
    </section>
  );
}

function Chain({ explanation }: { readonly explanation: Explanation }) {
  const { steps, end, hidden } = explanation;
  const writes = new Map(explanation.writes.map((write) => [write.id, write]));
  const clients = new Map(explanation.clients.map((client) => [client.id, client]));
  return (
    <>
      <ol class="chain">
        {steps.map(({ write: id, exact, candidates, followed }, at) => {
          const write = writes.get(id);
          if (write === undefined) return null;
          return (
            <li key={id}>
              {at > 0 && "because of "}
              <strong>{textOf(write)}</strong> <By write={write} clients={clients} />
              {write.causes.map(({ by, name, paths = [] }, cause) => (
                <div key={`${cause}${by}`}>
                  with a hand in it: {by} {name} {paths.join(", ")}
                </div>
              ))}
              <Links
                links={[...exact, ...candidates.filter(({ to }) => to === followed)]}
                {...{ followed, writes, clients }}
              />
              <Others
                links={candidates.filter(({ to }) => to !== followed)}
                {...{ followed, writes, clients }}
              />
            </li>
          );
        })}
      </ol>
      <p>
        {ENDS[end]}
        {hidden > 0 && ` ${hidden} records are hidden from you.`}
      </p>
    </>
  );
}

interface Shown {
  readonly links: readonly Link[];
  /** The id of the write that the chain goes on with. */
  readonly followed: string;
  readonly writes: ReadonlyMap<string, RecordedWrite>;
  readonly clients: ReadonlyMap<string, RecordedClient>;
}

function Links({ links, followed, writes, clients }: Shown) {
  return (
    <ul>
      {links.map((link) => (
        <Led
          key={`${link.to}${link.by}${link.rank}`}
          link={link}
          to={writes.get(link.to)}
          clients={clients}
          isFollowed={followed !== "" && link.to === followed}
        />
      ))}
    </ul>
  );
}

/** Candidates that the chain does not go on with. */
function Others(shown: Shown) {
  if (shown.links.length === 0) return null;
  return (
    <details>
      <summary>{plural(shown.links.length, "other candidate")}</summary>
      <Links {...shown} />
    </details>
  );
}

function Led(props: {
  readonly link: Link;
  readonly to: RecordedWrite | undefined;
  readonly clients: ReadonlyMap<string, RecordedClient>;
  readonly isFollowed: boolean;
}) {
  const { link, to, clients, isFollowed } = props;
  return (
    <li>
      {isFollowed && "→ "}
      <b>{link.certainty === "exact" ? `exact (${link.by})` : `candidate ${link.rank}`}</b>:{" "}
      {to === undefined ? `revision ${link.revision || "that is not kept"}` : textOf(to)}{" "}
      {to !== undefined && <By write={to} clients={clients} />}
      <span class="quiet"> {link.reasons.join(", ")}</span>
    </li>
  );
}

function By({
  write,
  clients,
}: {
  write: RecordedWrite;
  clients: ReadonlyMap<string, RecordedClient>;
}) {
  return (
    <span class="quiet">
      by {writerName(write, clients.get(write.client))}, {write.time.slice(11, 23)}
      {write.revision !== "" && `, revision ${write.revision}`}
    </span>
  );
}
