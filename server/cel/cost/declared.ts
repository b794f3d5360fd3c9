/**
 * Declared: the bounds that declarations give to the sizes of values. The estimate follows a value's path
 * through them; a value without one has no bound.
 */
import type { Path } from "./paths.js";

export interface Declared {
  /** Characters, bytes, items or entries; 0 for what has no size. */
  readonly max: number;
  readonly field: (name: string) => Declared | undefined;
  readonly key: Declared | undefined;
  readonly element: Declared | undefined;
}

/** Finds the declaration of the variable that a path starts with. */
export type DeclaredRoots = (variable: string) => Declared | undefined;

export const scalarOf = (max: number): Declared => ({
  max,
  field: () => undefined,
  key: undefined,
  element: undefined,
});

export function declaredAt(roots: DeclaredRoots, path: Path): Declared | undefined {
  const [root = "", ...names] = path.names();
  let found = roots(root);
  for (const name of names) {
    if (found === undefined) return undefined;
    if (name === "@items" || name === "@values") found = found.element;
    else if (name === "@keys") found = found.key;
    else found = found.field(name);
  }
  return found;
}
