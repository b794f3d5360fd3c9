/** The level and the flow of a piece of work that needs the thread (turns.ts). */
export interface TurnPlace {
  readonly level: string;
  readonly flow: string;
  /** What one flow of the level does too much of counts for all of them: together they are one that others stand beside. */
  readonly isAsOne?: boolean;
}
