/**
 * What an object belongs to, and what belongs to it, as a drawing whose boxes lead on. No API server can be asked for it,
 * so the metadata of the namespace's objects is read, a type after the other, when the tab is opened.
 */
import { useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { arrayOf, membersOf, textOf } from "../model/members.js";
import { type GraphObject, type PlacedObject, toGraph } from "../model/object-graph.js";
import { formatRoute } from "../model/routes.js";
import type { Api } from "./api.js";
import { METADATA_LIST, pathOf, type ServedType } from "./catalog.js";
import { useWork } from "./hooks.js";
import type { Shown } from "./ui.js";
import { plural } from "./words.js";

const LISTS_AT_A_TIME = 3;
const PAGE = 500;
/** Of one type; further ones are not looked at. */
const OBJECTS_MAX = 10_000;
const SHOWN_MAX = 200;
const BOX = { width: 230, height: 44, gapX: 60, gapY: 14 } as const;

interface Search {
  readonly objects: readonly GraphObject[];
  readonly typesLeft: number;
  readonly problems: readonly string[];
}

export function GraphTab({ ui, type, object }: Shown) {
  const metadata = membersOf(object.metadata);
  const [uid, namespace] = [textOf(metadata?.uid), textOf(metadata?.namespace)];
  const [search, setSearch] = useState<Search>({ objects: [], typesLeft: 1, problems: [] });
  useWork(
    async (signal) => {
      // An object of no namespace may own objects in all of them.
      const types = ui.catalog.types.filter((one) => namespace === "" || one.isNamespaced);
      const objects = [toGraphObject(type, object)];
      const problems: string[] = [];
      let typesLeft = types.length;
      const waiting = types[Symbol.iterator]();
      const work = async () => {
        for (const one of waiting) {
          if (signal.aborted) return;
          try {
            objects.push(...(await readObjects(ui.api, one, namespace, signal)));
          } catch (error) {
            problems.push(`${one.resource}: ${(error as Error).message}`);
          }
          typesLeft--;
          if (!signal.aborted)
            setSearch({ objects: [...objects], typesLeft, problems: [...problems] });
        }
      };
      await Promise.all(Array.from({ length: LISTS_AT_A_TIME }, work));
    },
    [ui.api, ui.catalog, uid],
  );
  const graph = toGraph(search.objects, uid, SHOWN_MAX);
  return (
    <section aria-label="Owners">
      <h2>Owners, and what it owns</h2>
      <p role="status">
        {plural(Math.max(0, graph.objects.length - 1), "other object")}
        {search.typesLeft > 0 && `; ${plural(search.typesLeft, "type")} still to look through`}
        {graph.leftOut > 0 && `; ${graph.leftOut} more are not shown`}
      </p>
      {search.problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
      <Drawing {...graph} centre={uid} />
    </section>
  );
}

function Drawing(props: {
  readonly objects: readonly PlacedObject[];
  readonly edges: readonly (readonly [number, number])[];
  readonly centre: string;
}) {
  const { objects, edges, centre } = props;
  const columns = Math.max(0, ...objects.map(({ column }) => column)) + 1;
  const rows = Math.max(0, ...objects.map(({ row }) => row)) + 1;
  const width = columns * (BOX.width + BOX.gapX) - BOX.gapX + 2;
  const height = rows * (BOX.height + BOX.gapY) - BOX.gapY + 2;
  const x = ({ column }: PlacedObject) => 1 + column * (BOX.width + BOX.gapX);
  const y = ({ row }: PlacedObject) => 1 + row * (BOX.height + BOX.gapY);
  return (
    <div class="scroll graph" tabIndex={0} role="region" aria-label="Graph of owners">
      <svg width={width} height={height} aria-label="Each box leads to its object" role="group">
        {edges.map(([from, to]) => {
          const [owner, owned] = [objects[from], objects[to]];
          if (owner === undefined || owned === undefined) return null;
          const [x1, y1] = [x(owner) + BOX.width, y(owner) + BOX.height / 2];
          const [x2, y2] = [x(owned), y(owned) + BOX.height / 2];
          const middle = (x1 + x2) / 2;
          return (
            <path
              key={`${from}-${to}`}
              d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
            />
          );
        })}
        {objects.map((object) => (
          <a key={object.uid} {...(object.href !== undefined && { href: object.href })}>
            <title>{`${object.kind} ${object.name}`}</title>
            <rect
              x={x(object)}
              y={y(object)}
              width={BOX.width}
              height={BOX.height}
              rx={4}
              class={object.uid === centre ? "centre" : ""}
            />
            <text x={x(object) + 10} y={y(object) + 18} class="kind">
              {object.kind}
            </text>
            <text x={x(object) + 10} y={y(object) + 35}>
              {object.name.length > 30 ? `${object.name.slice(0, 29)}…` : object.name}
            </text>
          </a>
        ))}
      </svg>
    </div>
  );
}

async function readObjects(
  api: Api,
  type: ServedType,
  namespace: string,
  signal: AbortSignal,
): Promise<GraphObject[]> {
  const found: GraphObject[] = [];
  for (let next = ""; found.length < OBJECTS_MAX; ) {
    const query = new URLSearchParams({
      limit: String(PAGE),
      ...(next !== "" && { continue: next }),
    });
    const list = await api.get(`${pathOf(type, namespace)}?${query}`, signal, METADATA_LIST);
    found.push(...arrayOf(list.items).map((one) => toGraphObject(type, membersOf(one) ?? {})));
    next = textOf(membersOf(list.metadata)?.continue);
    if (next === "") break;
  }
  return found;
}

function toGraphObject({ group, resource, kind }: ServedType, object: JsonObject): GraphObject {
  const metadata = membersOf(object.metadata);
  const [namespace, name] = [textOf(metadata?.namespace), textOf(metadata?.name)];
  return {
    uid: textOf(metadata?.uid),
    kind,
    namespace,
    name,
    href: formatRoute({ view: "object", type: { group, resource }, namespace, name, tab: "graph" }),
    owners: arrayOf(metadata?.ownerReferences).map((owner) => textOf(membersOf(owner)?.uid)),
  };
}
