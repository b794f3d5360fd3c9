/** The macros that go through a list or a map, by what they are called in the syntax tree. */
export type MacroName =
  | "all"
  | "exists"
  | "existsOne"
  | "map"
  | "filter"
  | "transformList"
  | "transformMap"
  | "transformMapEntry"
  | "sortBy";
