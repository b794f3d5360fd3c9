/**
 * What is derived of a resource, a group-version or a catalog is kept by its identity and forgotten
 * with it: a changed definition is another object, so nothing has to be told to go.
 */

/** What is known for a key, else what is made for it now. */
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
