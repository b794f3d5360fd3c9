/** Modules that the page shares with the server name this type; browsers have no such values. */
declare global {
  interface Buffer {
    toString(encoding: string): string;
  }
}

export {};
