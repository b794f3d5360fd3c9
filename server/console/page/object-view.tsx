/** One object, kept in step with the server: its YAML with who wrote what, and the other sides of it. */
import { useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { formatRoute, OBJECT_TABS, type ObjectTab, type Route } from "../model/routes.js";
import { type Api, ApiProblem } from "./api.js";
import { pathOf, type ServedType } from "./catalog.js";
import { DeleteDialog } from "./delete-dialog.js";
import { EditTab } from "./edit-tab.js";
import { EventsTab } from "./events-tab.js";
import { GraphTab } from "./graph-tab.js";
import { HistoryTab } from "./history-tab.js";
import { pause, useWork } from "./hooks.js";
import type { RecordedOf } from "./recorded.js";
import { TimelineView } from "./timeline-view.js";
import { type Shown, tableOf, type Ui } from "./ui.js";
import { YamlTab } from "./yaml-tab.js";

type ObjectRoute = Extract<Route, { view: "object" }>;

const TITLES: Readonly<Record<ObjectTab, string>> = {
  yaml: "YAML",
  events: "Events",
  graph: "Owners",
  history: "History",
  why: "Why",
  edit: "Edit",
};
const PAUSE_MS = 2_000;
const ASKING = "asking";

export function ObjectView(props: {
  readonly ui: Ui;
  readonly type: ServedType;
  readonly route: ObjectRoute;
}) {
  const { ui, type, route } = props;
  const path = pathOf(type, route.namespace, route.name);
  const { object, state } = useObject(ui.api, type, route);
  const [isDeleting, setDeleting] = useState(false);
  const shown = object && { ui, type, path, object };
  return (
    <section class="object-view" aria-label={`${type.kind} ${route.name}`}>
      <header>
        <h1>
          <a href={formatRoute(tableOf(type))}>{type.kind}</a>{" "}
          {route.namespace !== "" && `${route.namespace}/`}
          {route.name}
        </h1>
        <p role="status">{state}</p>
        {shown !== undefined && type.verbs.includes("delete") && (
          <button type="button" onClick={() => setDeleting(true)}>
            Delete …
          </button>
        )}
      </header>
      <nav aria-label="Sides of the object" class="tabs">
        {OBJECT_TABS.filter((tab) => tab !== "edit" || type.verbs.includes("update")).map((tab) => (
          <a
            key={tab}
            href={formatRoute({ ...route, tab })}
            {...(tab === route.tab && { "aria-current": "page" })}
          >
            {TITLES[tab]}
          </a>
        ))}
      </nav>
      {shown !== undefined && <Tab tab={route.tab} shown={shown} />}
      {shown === undefined && <WithoutObject ui={ui} type={type} route={route} state={state} />}
      {shown !== undefined && (
        <DeleteDialog shown={shown} isOpen={isDeleting} close={() => setDeleting(false)} />
      )}
    </section>
  );
}

function Tab({ tab, shown }: { readonly tab: ObjectTab; readonly shown: Shown }) {
  switch (tab) {
    case "yaml":
      return (
        <>
          <Conditions object={shown.object} />
          <YamlTab object={shown.object} />
        </>
      );
    case "events":
      return <EventsTab {...shown} />;
    case "graph":
      return <GraphTab {...shown} />;
    case "history":
      return <HistoryTab {...shown} />;
    case "why":
      return <WhyTab ui={shown.ui} of={recordOf(shown)} />;
    case "edit":
      return <EditTab {...shown} />;
  }
}

/** What was written of it, and because of what. */
function WhyTab({ ui, of }: { readonly ui: Ui; readonly of: RecordedOf }) {
  return (
    <section aria-label="Why">
      <h2>What was written of it, and because of what</h2>
      <TimelineView ui={ui} of={of} />
    </section>
  );
}

function recordOf({ type: { group, resource }, object: { metadata } }: Shown): RecordedOf {
  const { namespace, name } = membersOf(metadata) ?? {};
  return { group, resource, namespace: textOf(namespace), name: textOf(name) };
}

/** What was written of an object is recorded also where it is not there any more. */
function WithoutObject(props: {
  readonly ui: Ui;
  readonly type: ServedType;
  readonly route: ObjectRoute;
  readonly state: string;
}) {
  const { ui, type, route, state } = props;
  const { namespace, name, tab } = route;
  if (state === ASKING) return null;
  if (tab === "why") {
    return <WhyTab ui={ui} of={{ group: type.group, resource: type.resource, namespace, name }} />;
  }
  return (
    <p>
      What was written of it, and by whom, is under{" "}
      <a href={formatRoute({ ...route, tab: "why" })}>Why</a>, where the server records.
    </p>
  );
}

function Conditions({ object }: { readonly object: JsonObject }) {
  const conditions = arrayOf(membersOf(object.status)?.conditions).map(
    (one) => membersOf(one) ?? {},
  );
  if (conditions.length === 0) return null;
  return (
    <section aria-label="Conditions">
      <h2>Conditions</h2>
      <ul class="cards">
        {conditions.map((one) => (
          <li key={textOf(one.type)}>
            <strong>
              {textOf(one.type)}: {textOf(one.status)}
            </strong>{" "}
            {textOf(one.reason)} <span class="quiet">{textOf(one.lastTransitionTime)}</span>
            <br />
            {textOf(one.message)}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Followed {
  readonly object: JsonObject | undefined;
  readonly state: string;
}

/** The object as it is, from a watch of its name alone. */
function useObject(api: Api, type: ServedType, { namespace, name }: ObjectRoute): Followed {
  const [followed, setFollowed] = useState<Followed>({ object: undefined, state: ASKING });
  useWork(
    async (signal) => {
      const show = (object: JsonObject, state: string) => setFollowed({ object, state });
      while (!signal.aborted) {
        try {
          const object = await api.get(pathOf(type, namespace, name), signal);
          show(object, type.verbs.includes("watch") ? "live" : "as it was a moment ago");
          if (type.verbs.includes("watch"))
            await follow(api, type, namespace, name, object, show, signal);
        } catch (error) {
          if (signal.aborted) return;
          const state = (error as Error).message;
          setFollowed(({ object }) => ({ object, state }));
        }
        await pause(PAUSE_MS, signal);
      }
    },
    [api, type, namespace, name],
  );
  return followed;
}

async function follow(
  api: Api,
  type: ServedType,
  namespace: string,
  name: string,
  from: JsonObject,
  show: (object: JsonObject, state: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams({
    watch: "1",
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: textOf(membersOf(from.metadata)?.resourceVersion),
  });
  for await (const line of api.lines(`${pathOf(type, namespace)}?${query}`, signal)) {
    const { type: what, object } = line as { type: string; object: JsonObject };
    if (what === "ERROR") throw new ApiProblem(Number(object.code), textOf(object.message));
    show(object, what === "DELETED" ? "deleted: this is what it was" : "live");
  }
}
