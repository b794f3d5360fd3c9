/**
 * Rounds: mutating plugins run once, and a second time when one of them made a change that others
 * before it have not seen. In the second round a rule that users bring is asked again only if it says
 * so (`reinvocationPolicy: IfNeeded`), was asked before, and the object has changed since.
 *
 *   round 1   a (IfNeeded) asked ─► b changes the object: a is due again ─► c (IfNeeded) asked
 *   round 2   built-in plugins ─► a asked again; b not (Never); c only if something changed since
 *
 * One for each attempt of a write.
 */
export class Rounds {
  readonly #memories = new Map<string, RoundMemory>();
  #isSecond = false;
  #isSecondWanted = false;

  get isSecond(): boolean {
    return this.#isSecond;
  }

  /** Whether to begin one; never after the second. */
  get isSecondWanted(): boolean {
    return this.#isSecondWanted && !this.#isSecond;
  }

  /** Of one plugin. */
  memoryOf(plugin: string): RoundMemory {
    const known = this.#memories.get(plugin);
    if (known !== undefined) return known;
    const made = new RoundMemory();
    this.#memories.set(plugin, made);
    return made;
  }

  want(): void {
    this.#isSecondWanted = true;
  }

  begin(): void {
    this.#isSecond = true;
  }
}

/** Which rules of one plugin are due again. */
export class RoundMemory {
  readonly #asked = new Set<string>();
  readonly #due = new Set<string>();
  #left: string | undefined;

  /** What the plugin left, told at its end; and asked when it begins again. */
  leave(object: string): void {
    this.#left = object;
  }

  isAsLeft(object: string): boolean {
    return this.#left === undefined || this.#left === object;
  }

  /** A rule that wants to be asked again was asked. */
  asked(rule: string): void {
    this.#asked.add(rule);
  }

  /** The object has changed: all that were asked are due. */
  changed(): void {
    for (const rule of this.#asked) this.#due.add(rule);
    this.#asked.clear();
  }

  isDue(rule: string): boolean {
    return this.#due.has(rule);
  }
}
