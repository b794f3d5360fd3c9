/** The level and the flow of a piece of work that needs the thread (turns.ts). */
export interface TurnPlace {
  readonly level: string;
  readonly flow: string;
}
