/** The control planes of a Keelson that has them: how each is, and to create, copy, suspend and open them. */
import { useRef, useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { formatRoute } from "../model/routes.js";
import { CONTROL_PLANES, findType, pathOf, type ServedType } from "./catalog.js";
import { usePolled } from "./hooks.js";
import type { Ui } from "./ui.js";
import { plural } from "./words.js";

const EVERY_MS = 3_000;

export function ControlPlanes({ ui }: { readonly ui: Ui }) {
  const type = findType(ui.catalog, CONTROL_PLANES);
  return type === undefined ? null : <Served ui={ui} type={type} />;
}

function Served({ ui, type }: { readonly ui: Ui; readonly type: ServedType }) {
  const [round, setRound] = useState(0);
  const [problem, setProblem] = useState("");
  const planes = usePolled(
    async (signal) => arrayOf((await ui.api.get(pathOf(type, ""), signal)).items).map(membersOf),
    EVERY_MS,
    [ui.api, type, round],
  );
  const write = async (method: string, name: string, contentType: string, body: object) => {
    const asked = { method, contentType, body: JSON.stringify(body) };
    try {
      await ui.api.ask(pathOf(type, "", name), new AbortController().signal, asked);
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
    setRound((last) => last + 1);
  };
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
      <p role="status">{problem || planes.problem}</p>
      <ul class="cards">
        {planes.value?.map((plane) => (
          <Plane key={nameOf(plane)} plane={plane} enter={ui.enter} suspend={suspend} />
        ))}
      </ul>
      <Create names={planes.value?.map(nameOf) ?? []} create={create} />
    </section>
  );
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
