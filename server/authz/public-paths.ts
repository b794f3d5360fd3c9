/**
 * PublicPathsAuthorizer: paths that everybody may read, also anonymous users (S2-RBAC-27): health,
 * so that load balancers and probes need no credential, and the version.
 */
import {
  type AuthorizationAttributes,
  type Authorizer,
  NO_OPINION,
  type Verdict,
} from "./authorizer.js";

export const PUBLIC_PATHS: readonly string[] = [
  "/healthz",
  "/healthz/*",
  "/livez",
  "/livez/*",
  "/readyz",
  "/readyz/*",
  "/version",
  "/version/",
];

const ALLOW: Verdict = Object.freeze({ decision: "allow", reason: "public path" });

export class PublicPathsAuthorizer implements Authorizer {
  readonly name = "public-paths";
  readonly #exact: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  /** @param paths a trailing "*" stands for every rest */
  constructor(paths: readonly string[] = PUBLIC_PATHS) {
    this.#exact = new Set(paths.filter((path) => !path.endsWith("*")));
    this.#prefixes = paths.filter((path) => path.endsWith("*")).map((path) => path.slice(0, -1));
  }

  authorize({ info }: AuthorizationAttributes): Verdict {
    if (info.isResourceRequest || (info.verb !== "get" && info.verb !== "head")) return NO_OPINION;
    const isPublic =
      this.#exact.has(info.path) || this.#prefixes.some((prefix) => info.path.startsWith(prefix));
    return isPublic ? ALLOW : NO_OPINION;
  }
}
