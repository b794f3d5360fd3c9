/** What a server has recorded of one object, for the commands that show it. */
import type { HttpsClient } from "../client/https-client.js";
import type { AskedObject } from "../config/why-options.js";
import { RECORD_PATH, type Timeline } from "../recorder/record-types.js";
import { askServer, type ServerResource } from "./server-resources.js";

export type RecordedWrites = Pick<Timeline, "writes" | "clients" | "replicas">;

export const NOTHING_RECORDED: RecordedWrites = { writes: [], clients: [], replicas: [] };

const WRITES_MAX = "10000";

/** Nothing where nobody records. */
export async function readRecordedWrites(
  client: HttpsClient,
  resource: ServerResource,
  object: AskedObject,
  signal: AbortSignal,
): Promise<RecordedWrites> {
  const query = recordQueryOf(resource, object, { limit: WRITES_MAX });
  const path = `${RECORD_PATH}/timeline?${query}`;
  const { status, value } = await askServer(client, { path }, signal);
  return status === 200 ? (value as unknown as Timeline) : NOTHING_RECORDED;
}

export function recordQueryOf(
  { group, name: resource, isNamespaced }: ServerResource,
  { namespace, name }: AskedObject,
  more: Readonly<Record<string, string>>,
): URLSearchParams {
  const within = isNamespaced ? { namespace } : {};
  return new URLSearchParams({ group, resource, ...within, name, ...more });
}
