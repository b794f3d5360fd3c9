/**
 * The CEL expressions of AuthenticationConfiguration: over `claims`, the token's claims as a map
 * (S2-AUTHC-17), and over `user`, the mapped user (S2-AUTHC-15). Compiled once per configuration.
 */
import {
  CelCompileError,
  type CelEnvironment,
  type CelProgram,
  createCelEnvironment,
} from "../../cel/environment.js";

/** As kube-apiserver's limit for one evaluation: some hundred milliseconds at worst. */
const COST_LIMIT = 1_000_000;

const USER_TYPE = "UserInfo";

/**
 * The result types allowed for mappings. Claims are dynamically typed, so their types are checked at
 * run time; a type that can never match is a compile error.
 */
const STRING_RESULTS = ["string", "dyn"];
const STRINGS_RESULTS = [...STRING_RESULTS, "list(string)", "list(dyn)", "null"];

export interface ExpressionCompiler {
  /** @throws {CelCompileError} like all of these */
  claimsToString(source: string): CelProgram;
  claimsToStrings(source: string): CelProgram;
  claimsCondition(source: string): CelProgram;
  userCondition(source: string): CelProgram;
}

export function createExpressionCompiler(): ExpressionCompiler {
  const claims: CelEnvironment = createCelEnvironment({
    variables: { claims: { map: "dyn" } },
    costLimit: COST_LIMIT,
  });
  const user: CelEnvironment = createCelEnvironment({
    variables: { user: { object: USER_TYPE } },
    types: [
      {
        name: USER_TYPE,
        fields: {
          username: "string",
          uid: "string",
          groups: { list: "string" },
          extra: { map: { list: "string" } },
        },
      },
    ],
    costLimit: COST_LIMIT,
  });
  return {
    claimsToString: (source) => compileMapping(claims, source, STRING_RESULTS, "string"),
    claimsToStrings: (source) =>
      compileMapping(claims, source, STRINGS_RESULTS, "string or list(string)"),
    claimsCondition: (source) => claims.compile(source, ["bool"]),
    userCondition: (source) => user.compile(source, ["bool"]),
  };
}

function compileMapping(
  environment: CelEnvironment,
  source: string,
  results: readonly string[],
  expected: string,
): CelProgram {
  const program = environment.compile(source, ["dyn"]);
  if (results.includes(program.resultType)) return program;
  throw new CelCompileError(`must evaluate to ${expected}`, source, 0);
}
