/** The graph of owners: which objects an object belongs to, and which belong to it, as columns from left to right. Pure. */

/** Of an object, as little as the graph needs. */
export interface GraphObject {
  readonly uid: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Where it leads; undefined = nowhere. */
  readonly href: string | undefined;
  readonly owners: readonly string[];
}

export interface PlacedObject extends GraphObject {
  /** 0 = the first owner of all. */
  readonly column: number;
  readonly row: number;
}

export interface Graph {
  readonly objects: readonly PlacedObject[];
  /** From owner to owned, as places in `objects`. */
  readonly edges: readonly (readonly [number, number])[];
  /** Objects that are left out, as there are too many. */
  readonly leftOut: number;
}

/** @param most objects that are shown */
export function toGraph(all: readonly GraphObject[], centre: string, most: number): Graph {
  const byUid = new Map(all.map((object) => [object.uid, object]));
  const owned = new Map<string, GraphObject[]>();
  for (const object of all) {
    for (const owner of object.owners) {
      const known = owned.get(owner);
      if (known === undefined) owned.set(owner, [object]);
      else known.push(object);
    }
  }
  const columns = new Map<string, number>();
  // Owners first, so that they are not the ones that are left out.
  walk(centre, (uid) => byUid.get(uid)?.owners.filter((one) => byUid.has(one)) ?? [], -1, columns);
  walk(centre, (uid) => (owned.get(uid) ?? []).map((one) => one.uid), 1, columns);
  const firstColumn = Math.min(...columns.values(), 0);
  const kept = [...columns].slice(0, most);
  const rows = new Map<number, number>();
  const objects = kept.flatMap(([uid, depth]) => {
    const object = byUid.get(uid);
    if (object === undefined) return [];
    const column = depth - firstColumn;
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return [{ ...object, column, row }];
  });
  const places = new Map(objects.map(({ uid }, at) => [uid, at]));
  const edges = objects.flatMap(({ owners }, at) =>
    owners.flatMap((owner) => {
      const from = places.get(owner);
      return from === undefined ? [] : [[from, at] as const];
    }),
  );
  return { objects, edges, leftOut: columns.size - kept.length };
}

/** Breadth first, so that who is near comes first; who is met twice stays where it was. */
function walk(
  centre: string,
  neighbours: (uid: string) => readonly string[],
  step: number,
  columns: Map<string, number>,
): void {
  columns.set(centre, 0);
  const waiting = [centre];
  for (let at = 0; at < waiting.length; at++) {
    const uid = waiting[at] ?? "";
    const depth = columns.get(uid) ?? 0;
    for (const next of neighbours(uid)) {
      if (columns.has(next)) continue;
      columns.set(next, depth + step);
      waiting.push(next);
    }
  }
}
