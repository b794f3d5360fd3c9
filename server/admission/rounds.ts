/**
 * Rounds: mutating plugins run once, and a second time if one of them made a change that earlier ones
 * have not seen. In the second round a user's rule is called again only if it opts in
 * (`reinvocationPolicy: IfNeeded`), was called before, and the object has changed since.
 *
 *   round 1   a (IfNeeded) asked ─► b changes the object: a is due again ─► c (IfNeeded) asked
 *   round 2   built-in plugins ─► a asked again; b not (Never); c only if something changed since
 *
 * One instance per attempt of a write.
 */
export class Rounds {
  readonly #memories = new Map<string, RoundMemory>();
  #isSecond = false;
  #isSecondWanted = false;

  get isSecond(): boolean {
    return this.#isSecond;
  }

  /** Whether a second round is needed; false once it has begun. */
  get isSecondWanted(): boolean {
    return this.#isSecondWanted && !this.#isSecond;
  }

  /** The memory of one plugin. */
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

/** Which rules of one plugin must be called again. */
export class RoundMemory {
  readonly #asked = new Set<string>();
  readonly #due = new Set<string>();
  #left: string | undefined;

  /** Records the object at the end of the plugin's run, for the comparison at its next one. */
  leave(object: string): void {
    this.#left = object;
  }

  isAsLeft(object: string): boolean {
    return this.#left === undefined || this.#left === object;
  }

  /** Records that a reinvocable rule was called. */
  asked(rule: string): void {
    this.#asked.add(rule);
  }

  /** Marks all called rules as due, because the object has changed. */
  changed(): void {
    for (const rule of this.#asked) this.#due.add(rule);
    this.#asked.clear();
  }

  isDue(rule: string): boolean {
    return this.#due.has(rule);
  }
}
