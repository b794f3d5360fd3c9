/** Asks a server with credentials of any kind, without those of its administrator, and who one is to it. */
import { type Answer, HttpsClient } from "./https-client.js";
import type { ServerProcess } from "./server-process.js";
import type { TestIdentity } from "./test-authority.js";

export const WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Asks with headers and a certificate of its own, or none. */
export async function ask(
  server: ServerProcess,
  path: string,
  options: { headers?: Headers; identity?: TestIdentity; body?: unknown } = {},
): Promise<Answer> {
  const client = new HttpsClient(server.url, { ca: server.credentials.ca, ...options.identity });
  try {
    return await client.request(path, {
      // Repeated headers are arrays to node, whatever the client's type says.
      headers: (options.headers ?? {}) as Record<string, string>,
      ...(options.body === undefined ? {} : { method: "POST", body: options.body }),
    });
  } finally {
    client.close();
  }
}

export const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** Who the server says that one is. @throws {AssertionError} when it does not let one in */
export async function whoAmI(
  server: ServerProcess,
  options: { headers?: Headers; identity?: TestIdentity },
): Promise<UserInfo> {
  const answer = (await ask(server, WHOAMI, { ...options, body: REVIEW })).expect(201);
  return (answer.object.status as { userInfo: UserInfo }).userInfo;
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
