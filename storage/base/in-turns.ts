/**
 * InTurns: work of several owners, a piece of one after a piece of the other, as long as there is room for another piece.
 *
 *     shop has 3 pieces, bank has 1     shop  bank  shop  shop
 */

/** Does one piece of an owner's work. @returns whether the owner has more */
export type Piece = () => boolean;

export class InTurns {
  /** In the order of their turns; an owner is in it once. */
  readonly #owners = new Set<Piece>();

  /** The owner has work; told once is enough. */
  add(owner: Piece): void {
    this.#owners.add(owner);
  }

  get isEmpty(): boolean {
    return this.#owners.size === 0;
  }

  /** A piece of the owner whose turn it is; nothing when nobody has work. */
  next(): void {
    const [owner] = this.#owners;
    if (owner === undefined) return;
    this.#owners.delete(owner);
    if (owner()) this.#owners.add(owner);
  }
}
