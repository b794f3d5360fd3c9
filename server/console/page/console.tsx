/** The frame around all views: what is served at the side, what stands between page and server above. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatRoute, parseRoute, type Route } from "../model/routes.js";
import { Api, type Obstacle } from "./api.js";
import { findType, groupsOf, nameOf, readCatalog } from "./catalog.js";
import { ClientsView } from "./clients-view.js";
import { useLoaded } from "./hooks.js";
import { Keys, useKeys } from "./keys.js";
import { ObjectView } from "./object-view.js";
import { Overview } from "./overview.js";
import { EVERYTHING } from "./recorded.js";
import { TableView } from "./table-view.js";
import { TimelineView } from "./timeline-view.js";
import { tableOf, type Ui } from "./ui.js";

const VIEWS = [
  ["overview", "Overview"],
  ["timeline", "Timeline"],
  ["clients", "Clients"],
] as const;

export function Console({ sessionKey }: { readonly sessionKey: string }) {
  const [obstacle, setObstacle] = useState<Obstacle | undefined>(undefined);
  /** "" = the root. */
  const [plane, setPlane] = useState("");
  const root = plane === "" ? "" : `/clusters/${encodeURIComponent(plane)}`;
  const api = useMemo(() => new Api(sessionKey, root, setObstacle), [sessionKey, root]);
  const [round, setRound] = useState(0);
  const catalog = useLoaded((signal) => readCatalog(api, signal), [api, round]);
  const route = useRoute();
  const opened = useMemo(() => new Map<string, string>(), []);
  useKeptFocus([route, plane, catalog.value, obstacle]);
  useEffect(() => {
    if (obstacle === undefined && catalog.problem !== undefined) setRound((last) => last + 1);
  }, [obstacle]);
  return (
    <>
      <button type="button" class="skip" onClick={focusOnMain}>
        Skip to the view
      </button>
      <Banner obstacle={obstacle} again={() => setRound((last) => last + 1)} />
      {catalog.value === undefined ? (
        <main class="alone">
          <h1>Keelson console</h1>
          <p role="status">{catalog.problem ?? "Asking the server what it serves …"}</p>
          {plane !== "" && <Leave plane={plane} leave={() => setPlane("")} />}
        </main>
      ) : (
        <Frame
          ui={{ api, catalog: catalog.value, go, enter: setPlane, opened }}
          plane={plane}
          route={route}
        />
      )}
    </>
  );
}

function Leave({ plane, leave }: { readonly plane: string; readonly leave: () => void }) {
  return (
    <p>
      In the control plane <b>{plane}</b>{" "}
      <button type="button" onClick={leave}>
        Leave it
      </button>
    </p>
  );
}

function Frame(props: { readonly ui: Ui; readonly plane: string; readonly route: Route }) {
  const { ui, plane, route } = props;
  const [isHelpOpen, setHelpOpen] = useState(false);
  useKeys({
    "?": () => setHelpOpen(true),
    o: () => go({ view: "overview" }),
    l: () => go({ view: "timeline" }),
    c: () => go({ view: "clients" }),
  });
  return (
    <div class="frame">
      <Types ui={ui} plane={plane} route={route} />
      <main id="main" tabIndex={-1}>
        <View ui={ui} route={route} />
      </main>
      <Keys isOpen={isHelpOpen} close={() => setHelpOpen(false)} />
    </div>
  );
}

function View({ ui, route }: { readonly ui: Ui; readonly route: Route }) {
  if (!("type" in route)) {
    if (route.view === "clients") return <ClientsView ui={ui} />;
    return route.view === "timeline" ? <WholeTimeline ui={ui} /> : <Overview ui={ui} />;
  }
  const type = findType(ui.catalog, route.type);
  if (type === undefined)
    return <p role="alert">The server does not serve {nameOf(route.type)}.</p>;
  // Another object is another view: nothing of the last one stays.
  const key =
    route.view === "table" ? nameOf(type) : `${nameOf(type)}/${route.namespace}/${route.name}`;
  if (route.view === "table") return <TableView key={key} ui={ui} type={type} route={route} />;
  return <ObjectView key={key} ui={ui} type={type} route={route} />;
}

function WholeTimeline({ ui }: { readonly ui: Ui }) {
  const [namespace, setNamespace] = useState("");
  return (
    <section aria-label="Timeline">
      <h1>Timeline</h1>
      <p>
        <label>
          Namespace{" "}
          <input
            type="text"
            data-key="/"
            placeholder="all (/)"
            value={namespace}
            onChange={({ currentTarget }) => setNamespace(currentTarget.value.trim())}
          />
        </label>
      </p>
      <TimelineView key={namespace} ui={ui} of={{ ...EVERYTHING, namespace }} />
    </section>
  );
}

function Types(props: { readonly ui: Ui; readonly plane: string; readonly route: Route }) {
  const { plane, route } = props;
  const { catalog, enter } = props.ui;
  const [wanted, setWanted] = useState("");
  const shown = groupsOf(
    catalog.types.filter((type) => nameOf(type).includes(wanted.toLowerCase())),
  );
  const current = "type" in route ? nameOf(route.type) : "";
  return (
    <nav aria-label="What is served" class="types">
      <p class="home">Keelson console</p>
      {plane !== "" && <Leave plane={plane} leave={() => enter("")} />}
      <ul class="views">
        {VIEWS.map(([view, title]) => (
          <li key={view}>
            <a
              href={formatRoute({ view })}
              {...(route.view === view && { "aria-current": "page" })}
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
      <input
        type="search"
        aria-label="Find a type"
        placeholder="Find a type (t)"
        data-key="t"
        value={wanted}
        onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        onKeyDown={({ key }) => {
          const [[first] = []] = shown.values();
          if (key !== "Enter" || first === undefined) return;
          go(tableOf(first));
          focusOnMain();
        }}
      />
      <div class="groups">
        {shown.size === 0 && <p class="quiet">No type has this in its name.</p>}
        {[...shown].map(([group, types]) => (
          <section key={group} aria-label={group || "core"}>
            <p class="quiet">{group || "core"}</p>
            <ul>
              {types.map((type) => (
                <li key={nameOf(type)}>
                  <a
                    href={formatRoute(tableOf(type))}
                    title={nameOf(type)}
                    {...(nameOf(type) === current && { "aria-current": "page" })}
                    onClick={focusOnMain}
                  >
                    {type.resource}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </nav>
  );
}

function Banner({
  obstacle,
  again,
}: {
  readonly obstacle: Obstacle | undefined;
  again: () => void;
}) {
  return (
    <div role="alert" class="banner" hidden={obstacle === undefined}>
      {obstacle !== undefined && <p>{textOf(obstacle)}</p>}
      {obstacle !== undefined && obstacle.kind !== "key" && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

function textOf(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case "gone":
      return "The command keelson console does not answer. If it has ended, start it again and open its new address.";
    case "key":
      return "The command does not know this page any more. Open the address that it printed last.";
    case "credentials":
      return `The server does not take the credentials of the kubeconfig any more (401: ${obstacle.message}). Renew them, for example by logging in again: the next request uses the new ones.`;
    case "unreachable":
      return obstacle.message;
  }
}

function go(route: Route): void {
  location.hash = formatRoute(route);
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Whenever what had the focus has gone with its view, the view in its place has it: the next Tab goes on there. */
function useKeptFocus(inputs: readonly unknown[]): void {
  const isBegun = useRef(false);
  useEffect(() => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    // A page that has just been opened begins at its top.
    if (isBegun.current && isLost) focusOnMain();
    isBegun.current ||= document.querySelector("#main") !== null;
  }, inputs);
}

function focusOnMain(): void {
  document.querySelector<HTMLElement>("#main")?.focus();
}
