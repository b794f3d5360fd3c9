/** Expressions of rules are compiled when they are first evaluated: most never are. */

/** Made on first use. */
export interface CompiledLater<T> {
  (): T | Error;
  /** Of the text that it is made of; 0 once it is made. */
  charsLeft(): number;
}

/** A stored expression may not compile under today's rules; each evaluation then fails. */
export function compileLater<T>(chars: number, make: () => T): CompiledLater<T> {
  let made: T | Error | undefined;
  const get = () => {
    if (made === undefined) {
      try {
        made = make();
      } catch (error) {
        made = error instanceof Error ? error : new Error(String(error));
      }
    }
    return made;
  };
  return Object.assign(get, { charsLeft: () => (made === undefined ? chars : 0) });
}
