/** The control planes of a Keelson that has them: how each is, and to create, copy, suspend and open them. */
import { useRef, useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { formatRoute } from "../model/routes.js";
import { CONTROL_PLANES, findType, pathOf, type ServedType } from "./catalog.js";
import { pause, usePolled, useWork } from "./hooks.js";
import type { Ui } from "./ui.js";
import { plural } from "./words.js";

/** The recorder calls a client that lists a type ten times a minute a hot loop, and this page is a client. */
const LISTED_EVERY_MS = 15_000;
/** A control plane that was written here is read until it has the phase that was asked for. */
const LOOK_EVERY_MS = 1_000;
const LOOKS_MAX = 30;

export function ControlPlanes({ ui }: { readonly ui: Ui }) {
  const type = findType(ui.catalog, CONTROL_PLANES);
  return type === undefined ? null : <Served ui={ui} type={type} />;
}

function Served({ ui, type }: { readonly ui: Ui; readonly type: ServedType }) {
  const [problem, setProblem] = useState("");
  const [written, setWritten] = useState<Written>({ name: "", round: 0, planes: new Map() });
  const listed = usePolled(
    async (signal) => {
      const items = arrayOf((await ui.api.get(pathOf(type, ""), signal)).items);
      setWritten((last) => ({ ...last, planes: new Map() }));
      return items.map(membersOf);
    },
    LISTED_EVERY_MS,
    [ui.api, type],
  );
  /** @param rounds 1 = it was written, 0 = looked at */
  const put = (plane: JsonObject, rounds: number) =>
    setWritten(({ round, planes }) => {
      const name = nameOf(plane);
      return { name, round: round + rounds, planes: new Map(planes).set(name, plane) };
    });
  const write = async (method: string, name: string, contentType: string, body: object) => {
    const asked = { method, contentType, body: JSON.stringify(body) };
    try {
      const signal = new AbortController().signal;
      const { value } = await ui.api.ask(pathOf(type, "", name), signal, asked);
      put(value, 1);
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  useWork(
    async (signal) => {
      const { name } = written;
      for (let looks = 0; name !== "" && looks < LOOKS_MAX && !signal.aborted; looks++) {
        await pause(LOOK_EVERY_MS, signal);
        try {
          const plane = await ui.api.get(pathOf(type, "", name), signal);
          put(plane, 0);
          if (isSettled(plane)) break;
        } catch {
          // The next list tells what has become of it.
          break;
        }
      }
    },
    [ui.api, type, written.round],
  );
  const planes = newest(listed.value ?? [], written.planes);
  const create = (name: string, from: string) => {
    const { group, version } = type;
    const spec = from === "" ? {} : { cloneFrom: { name: from } };
    const object = { apiVersion: `${group}/${version}`, kind: type.kind, metadata: { name }, spec };
    return write("POST", "", "application/json", object);
  };
  const suspend = (name: string, suspended: boolean) =>
    write("PATCH", name, "application/merge-patch+json", { spec: { suspended } });
  return (
    <section aria-label="Control planes">
      <h2>Control planes</h2>
      <p role="status">{problem || listed.problem}</p>
      <ul class="cards">
        {planes.map((plane) => (
          <Plane key={nameOf(plane)} plane={plane} enter={ui.enter} suspend={suspend} />
        ))}
      </ul>
      <Create names={planes.map(nameOf)} create={create} />
    </section>
  );
}

interface Written {
  /** The last one that was written here; "" = none. */
  readonly name: string;
  /** How often something was written here. */
  readonly round: number;
  /** As they were when they were written or looked at, since the last list. */
  readonly planes: ReadonlyMap<string, JsonObject>;
}

function isSettled({ spec, status }: JsonObject): boolean {
  const wanted = membersOf(spec)?.suspended === true ? "Suspended" : "Ready";
  return textOf(membersOf(status)?.phase) === wanted;
}

function newest(
  listed: readonly (JsonObject | undefined)[],
  written: ReadonlyMap<string, JsonObject>,
): readonly (JsonObject | undefined)[] {
  const known = new Set(listed.map(nameOf));
  const added = [...written].flatMap(([name, plane]) => (known.has(name) ? [] : [plane]));
  return [...listed.map((plane) => written.get(nameOf(plane)) ?? plane), ...added];
}

function Plane(props: {
  readonly plane: JsonObject | undefined;
  readonly enter: (name: string) => void;
  readonly suspend: (name: string, suspended: boolean) => Promise<void>;
}) {
  const { plane, enter, suspend } = props;
  const name = nameOf(plane);
  const status = membersOf(plane?.status);
  const isSuspended = membersOf(plane?.spec)?.suspended === true;
  const route = { view: "object", type: CONTROL_PLANES, namespace: "", name, tab: "yaml" } as const;
  return (
    <li>
      <a href={formatRoute(route)}>{name}</a> {textOf(status?.phase)}{" "}
      <span class="quiet">
        {typeof status?.objects === "number" && plural(status.objects, "object")}
      </span>
      <p class="buttons">
        <button
          type="button"
          aria-disabled={isSuspended}
          title={isSuspended ? "it is suspended" : undefined}
          aria-label={`Open ${name}`}
          onClick={() => isSuspended || enter(name)}
        >
          Open
        </button>
        <button
          type="button"
          aria-label={`${isSuspended ? "Resume" : "Suspend"} ${name}`}
          onClick={() => void suspend(name, !isSuspended)}
        >
          {isSuspended ? "Resume" : "Suspend"}
        </button>
      </p>
    </li>
  );
}

function Create(props: {
  readonly names: readonly string[];
  readonly create: (name: string, from: string) => Promise<void>;
}) {
  const { names, create } = props;
  const [name, setName] = useState("");
  const [from, setFrom] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const send = async (event: Event) => {
    event.preventDefault();
    await create(name, from);
    setName("");
    field.current?.focus();
  };
  return (
    <form class="buttons" onSubmit={(event) => void send(event)}>
      <label>
        A new one{" "}
        <input
          type="text"
          ref={field}
          placeholder="its name"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        as a copy of{" "}
        <select value={from} onChange={({ currentTarget }) => setFrom(currentTarget.value)}>
          <option value="">nothing: empty</option>
          {names.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <button type="submit" disabled={name === ""}>
        Create
      </button>
    </form>
  );
}

function nameOf(plane: JsonObject | undefined): string {
  return textOf(membersOf(plane?.metadata)?.name);
}
