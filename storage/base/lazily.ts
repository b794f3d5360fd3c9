/** @returns what gives the value that `make` makes, once, when it is first asked for */
export function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
