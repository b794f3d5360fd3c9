/** Hands the thread back: resolves when whoever else waits for it had a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
