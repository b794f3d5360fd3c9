/**
 * Expands macros for the parser: has, the loops over lists and maps with one and two variables, and
 * bindings (optMap, optFlatMap, and cel.bind where the environment has it). A call with another number of arguments is not a macro.
 */
import type { CelCompileError } from "./errors.js";
import type { MacroName } from "./macro-name.js";
import type { Node } from "./syntax.js";

interface MacroCall {
  readonly name: string;
  readonly target: Node | undefined;
  readonly args: readonly Node[];
  readonly offset: number;
  /** Whether `cel.bind` is a macro. */
  readonly hasBind: boolean;
}

type Fail = (problem: string, offset: number) => CelCompileError;

/** Loops by name and number of arguments: the number of variables, and whether a filter follows. */
const LOOPS: ReadonlyMap<string, { macro: MacroName; variables: 1 | 2; hasFilter: boolean }> =
  new Map([
    ["all/2", { macro: "all", variables: 1, hasFilter: false }],
    ["exists/2", { macro: "exists", variables: 1, hasFilter: false }],
    ["exists_one/2", { macro: "existsOne", variables: 1, hasFilter: false }],
    ["filter/2", { macro: "filter", variables: 1, hasFilter: false }],
    ["map/2", { macro: "map", variables: 1, hasFilter: false }],
    ["map/3", { macro: "map", variables: 1, hasFilter: true }],
    ["sortBy/2", { macro: "sortBy", variables: 1, hasFilter: false }],
    ["all/3", { macro: "all", variables: 2, hasFilter: false }],
    ["exists/3", { macro: "exists", variables: 2, hasFilter: false }],
    ["exists_one/3", { macro: "existsOne", variables: 2, hasFilter: false }],
    ["existsOne/3", { macro: "existsOne", variables: 2, hasFilter: false }],
    ["transformList/3", { macro: "transformList", variables: 2, hasFilter: false }],
    ["transformList/4", { macro: "transformList", variables: 2, hasFilter: true }],
    ["transformMap/3", { macro: "transformMap", variables: 2, hasFilter: false }],
    ["transformMap/4", { macro: "transformMap", variables: 2, hasFilter: true }],
    ["transformMapEntry/3", { macro: "transformMapEntry", variables: 2, hasFilter: false }],
    ["transformMapEntry/4", { macro: "transformMapEntry", variables: 2, hasFilter: true }],
  ] as const);

/** undefined if the call is not a macro. @throws the error of `fail` for a malformed one */
export function expandMacro(call: MacroCall, fail: Fail): Node | undefined {
  const { name, target, args, offset } = call;
  if (target === undefined) return name === "has" ? expandHas(args, offset, fail) : undefined;
  if (call.hasBind && name === "bind" && target.kind === "identifier" && target.name === "cel") {
    const [variable, value, body] = args;
    if (args.length !== 3 || !variable || !value || !body) return undefined;
    const bound = variableName(
      variable,
      fail,
      "cel.bind() variable names must be simple identifiers",
    );
    return { kind: "bind", macro: "bind", offset, variable: bound, value, body };
  }
  if (name === "optMap" || name === "optFlatMap") {
    const [variable, body] = args;
    if (args.length !== 2 || !variable || !body) return undefined;
    const bound = variableName(
      variable,
      fail,
      `${name}() variable name must be a simple identifier`,
    );
    return { kind: "bind", macro: name, offset, variable: bound, value: target, body };
  }
  const loop = LOOPS.get(`${name}/${args.length}`);
  if (loop === undefined) return undefined;
  const isNamedAlone = loop.macro === "filter" || loop.macro === "map";
  const problem = isNamedAlone ? "argument is not an identifier" : "argument must be a simple name";
  const variables = args.slice(0, loop.variables).map((arg) => variableName(arg, fail, problem));
  if (variables.length === 2 && variables[0] === variables[1]) {
    throw fail(`duplicate variable name: ${variables[0]}`, args[1]?.offset ?? offset);
  }
  const rest = args.slice(loop.variables);
  const body = rest[loop.hasFilter ? 1 : 0];
  const filter = loop.hasFilter ? rest[0] : undefined;
  if (body === undefined) return undefined;
  return {
    kind: "comprehension",
    macro: loop.macro,
    offset,
    range: target,
    variables,
    body,
    ...(filter !== undefined && { filter }),
  };
}

function expandHas(args: readonly Node[], offset: number, fail: Fail): Node | undefined {
  const [arg] = args;
  if (args.length !== 1 || arg === undefined) return undefined;
  if (arg.kind !== "select" || arg.isTest || arg.isOptional) {
    throw fail("invalid argument to has() macro", arg.offset ?? offset);
  }
  return { ...arg, isTest: true, offset };
}

function variableName(node: Node, fail: Fail, problem: string): string {
  if (node.kind !== "identifier" || node.isAbsolute) throw fail(problem, node.offset);
  return node.name;
}
