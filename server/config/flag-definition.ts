/** The entries of the tables of flags (flags.ts, access-flags.ts). */

export type Command = "serve" | "controllers";

export type FlagType =
  | "string"
  | "file"
  | "boolean"
  | "integer"
  /** "0.001": between 0 and 1. */
  | "share"
  /** "5m30s", always with a unit. Values are milliseconds. */
  | "duration"
  /** "64Mi", "1Gi", "1048576". Values are bytes. */
  | "bytes"
  /** Comma-separated, and the flag may be repeated. */
  | "strings"
  /** As strings, but each is one entry: a comma is part of it. */
  | "texts"
  /** As strings; files that must be readable. */
  | "files"
  /** "key=true,other=false"; a key without value is true, unless that is not taken; repeatable. */
  | "switches";

export interface FlagDefinition {
  readonly name: string;
  readonly type: FlagType;
  /** As it would be written on the command line. */
  readonly default: string;
  /** Shown instead of the default where it depends on other flags. */
  readonly defaultHelp?: string;
  readonly help: string;
  readonly section: string;
  readonly commands?: readonly Command[];
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** For switches: a key must have a value. */
  readonly needsValues?: boolean;
  /** One letter, without its dash. */
  readonly shorthand?: string;
}

/** For flags that only a replica has. */
export const SERVE_ONLY = ["serve"] as const;
