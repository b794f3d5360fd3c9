/**
 * TokenFileAuthenticator: bearer tokens from a list that is read once, at process start (S2-TOK-02). One
 * token per line: token, user name, user id, and optionally the groups, quoted if there are several
 * (S2-TOK-01):
 *
 *   31ada4fd-adec-460c-809a-9e56ceb75269,jane,1001,"dev,ops"
 */
import type { Logger } from "../../storage/base/logger.js";
import { createUser, type UserInfo } from "../request/user-info.js";
import type { Authenticator, RequestFacts } from "./authenticator.js";
import { bearerTokenOf } from "./bearer-token.js";
import { CsvError, parseCsv } from "./csv.js";
import { TokenDigests } from "./token-digests.js";

/** Token, user name, user id. */
const COLUMNS_MIN = 3;

export class TokenFileAuthenticator implements Authenticator {
  readonly name = "token-file";
  readonly #users: TokenDigests<UserInfo>;

  constructor(users: TokenDigests<UserInfo>) {
    this.#users = users;
  }

  /** An unknown token is not refused, because other authenticators may know it. */
  authenticate({ headers }: RequestFacts): UserInfo | undefined {
    const token = bearerTokenOf(headers);
    return token === undefined ? undefined : this.#users.get(token);
  }
}

/**
 * Reads the list. Errors and warnings name the file and the row, never a token.
 * @param path for messages. @throws {Error} with one line: bad quoting, or fewer than three columns
 */
export function parseTokenFile(path: string, text: string, logger: Logger): TokenDigests<UserInfo> {
  const users = new TokenDigests<UserInfo>();
  for (const [index, row] of readRows(path, text).entries()) {
    if (row.length < COLUMNS_MIN) {
      throw new Error(
        `token file '${path}' must have at least 3 columns (token, user name, user uid), found ${row.length}`,
      );
    }
    const [token = "", name = "", uid = "", groups] = row;
    const at = { file: path, record: index + 1 };
    if (token === "") {
      logger.warn(at, "empty token in the token file; the record is skipped");
      continue;
    }
    // The last duplicate wins, as in kube-apiserver.
    if (users.has(headerForm(token))) logger.warn(at, "duplicate token in the token file");
    const members = groups?.split(",").filter((group) => group !== "") ?? [];
    users.set(headerForm(token), createUser({ name, uid, groups: members }));
  }
  return users;
}

/** Node exposes each byte of a header as one character. */
function headerForm(token: string): string {
  return Buffer.from(token, "utf8").toString("latin1");
}

function readRows(path: string, text: string): string[][] {
  try {
    return parseCsv(text);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new Error(`token file '${path}': ${error.message}`, { cause: error });
  }
}
