/**
 * The CEL expressions of AuthenticationConfiguration: over `claims`, the token's claims as a map
 * (S2-AUTHC-17), and over `user`, the user that the mappings have made (S2-AUTHC-15). Compiled once
 * per configuration.
 */
import {
  type CelEnvironment,
  type CelProgram,
  type CelType,
  createCelEnvironment,
} from "../../cel/environment.js";

/** As upstream's limit for one evaluation: some hundred milliseconds at worst. */
const COST_LIMIT = 1_000_000;

const USER_TYPE = "UserInfo";

/** The claims are known at run time only, so everything that is read from them is dynamic. */
const MAPPED_STRING: readonly CelType[] = ["string", "dyn"];
const MAPPED_STRINGS: readonly CelType[] = ["string", { list: "string" }, { list: "dyn" }, "dyn"];
const CONDITION: readonly CelType[] = ["bool"];

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
    claimsToString: (source) => claims.compile(source, MAPPED_STRING),
    claimsToStrings: (source) => claims.compile(source, MAPPED_STRINGS),
    claimsCondition: (source) => claims.compile(source, CONDITION),
    userCondition: (source) => user.compile(source, CONDITION),
  };
}
