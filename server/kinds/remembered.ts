/**
 * Values derived from a resource, a group-version or a catalog are cached by its identity and
 * collected with it: a changed definition is another object, so nothing has to be invalidated.
 */

/** The cached value of a key, or a new one made by `make`. */
export function remembered<Key extends object, Value>(
  known: WeakMap<Key, Value>,
  key: Key,
  make: () => Value,
): Value {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}
