/** The records of all replicas of an API, each asked at its own address with the credentials of who asks. */
import { oneLine } from "../../storage/base/one-line.js";
import type { HttpsClient } from "../client/https-client.js";
import type { ServerFlags } from "../config/command-flags.js";
import { connect } from "../explain/connect.js";
import { explain, findWrite } from "../recorder/explain.js";
import { NAMES_NOTHING } from "../recorder/links.js";
import { RecordIndex } from "../recorder/record-index.js";
import {
  type Explanation,
  RECORD_PATH,
  type RecordedWrite,
  type Records,
  type ReplicaAsked,
} from "../recorder/record-types.js";
import { mergeRecords, type ReplicaRecords } from "../recorder/records.js";
import { askServer, reasonOf } from "./server-resources.js";

const PATH = `${RECORD_PATH}/records?limit=10000`;

interface OwnRecords extends ReplicaRecords {
  readonly replica: string;
}

/** @returns what all that answered have recorded; undefined = there is one replica only */
export async function askReplicas(
  client: HttpsClient,
  replicas: readonly ReplicaAsked[],
  flags: ServerFlags,
  signal: AbortSignal,
): Promise<Records | undefined> {
  if (replicas.length === 0) return undefined;
  // The address that was given may be that of a balancer.
  const first = await recordsOf(client, signal);
  const known = new Map([[first.replica, first]]);
  const asked = await Promise.all(
    replicas.map(async ({ address }) => {
      try {
        const records = await askReplica(address, flags, signal);
        known.set(records.replica, records);
        return { address, isAsked: true, problem: "" };
      } catch (error) {
        return { address, isAsked: false, problem: oneLine(error) };
      }
    }),
  );
  return { ...mergeRecords([...known.values()]), replicas: asked };
}

/** As the server explains it, but for references by name, which need the objects. @throws {Error} nothing is recorded */
export function explainMerged(
  records: Records,
  object: Pick<RecordedWrite, "group" | "resource" | "namespace" | "name">,
  revision: string,
): Explanation {
  const index = new RecordIndex(records);
  const write = findWrite(index, object, revision);
  if (write === undefined) throw new Error("no write of it is recorded, or none that you may read");
  const { steps, end } = explain(index, write, NAMES_NOTHING);
  const { clients, writes, reads, hidden, replicas } = records;
  return { kind: "Explanation", replicas, hidden, clients, steps, writes, reads, end };
}

async function askReplica(
  address: string,
  flags: ServerFlags,
  signal: AbortSignal,
): Promise<OwnRecords> {
  const client = await connect({ ...flags, server: `https://${address}` }, "keelson-why");
  try {
    return await recordsOf(client, signal);
  } finally {
    client.close();
  }
}

async function recordsOf(client: HttpsClient, signal: AbortSignal): Promise<OwnRecords> {
  const answer = await askServer(client, { path: PATH }, signal);
  if (answer.status !== 200) throw new Error(reasonOf(answer));
  return answer.value as unknown as OwnRecords;
}
