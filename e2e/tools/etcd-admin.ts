/** What an operator does to a running etcd, through the JSON form of its gRPC services. */
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { EtcdCluster, RestoreOptions } from "./etcd.js";

export type MemberState = "leads" | "follows" | "silent";

export interface EtcdAdmin {
  /** The member that leads, by its place among the endpoints. */
  leader(): Promise<number>;
  /** What each member says of itself; "silent" = nothing, within a moment. */
  states(): Promise<readonly MemberState[]>;
  /** Makes another member lead. */
  moveLeader(): Promise<void>;
  defragment(index: number): Promise<void>;
  /** All writes are refused until it is taken back. */
  raiseNoSpace(): Promise<void>;
  clearNoSpace(): Promise<void>;
  /** Writes a backup, taken from the leader, into a file. */
  saveSnapshot(file: string): Promise<void>;
  /** A member is lost with its data, and another one takes its place; resolves when that is healthy. */
  replaceMember(index: number): Promise<void>;
  /** Makes a backup the state of a new cluster of the same members, which stop meanwhile. */
  restore(file: string, options?: RestoreOptions): Promise<void>;
}

const DEADLINE_MS = 5_000;

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader: string;
}

interface MemberList {
  readonly members: readonly { readonly ID: string; readonly peerURLs: readonly string[] }[];
}

interface Snapshot {
  readonly result?: { readonly blob?: string };
}

const PATIENCE_MS = 20_000;
const RETRY_MS = 100;

/** Many calls need a leader, which may have to be elected first. */
async function patiently<T>(call: () => Promise<T>, isDone?: RegExp): Promise<T | undefined> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (isDone?.test(String(error))) return undefined;
      if (performance.now() > giveUpAtMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

export function etcdAdmin({ endpoints, members }: EtcdCluster): EtcdAdmin {
  const call = async (index: number, path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${endpoints[index]}/v3/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`etcd ${path}: ${text}`);
    return JSON.parse(text);
  };
  const statuses = async (): Promise<(Status | undefined)[]> =>
    await Promise.all(
      endpoints.map((_, index) =>
        call(index, "maintenance/status", {})
          .then((status) => status as Status)
          .catch(() => undefined),
      ),
    );
  const findLeader = async () => {
    const all = await statuses();
    const index = all.findIndex((one) => one !== undefined && one.leader === one.header.member_id);
    if (index < 0) throw new Error("no member of etcd leads");
    return { all, index };
  };
  const alarm = async (action: "ACTIVATE" | "DEACTIVATE") => {
    const { all, index } = await findLeader();
    const memberID = all[index]?.header.member_id;
    await call(index, "maintenance/alarm", { action, memberID, alarm: "NOSPACE" });
  };
  const replaceMember = async (index: number) => {
    const member = members[index];
    if (member === undefined) throw new RangeError(`there is no member ${index}`);
    await member.kill();
    await member.wipe();
    const other = endpoints.findIndex((_, at) => at !== index);
    const { members: known } = (await patiently(() =>
      call(other, "cluster/member/list", {}),
    )) as MemberList;
    const old = known.find(({ peerURLs }) => peerURLs.includes(member.peerUrl));
    if (old !== undefined) {
      // What was done although nobody said so is done.
      await patiently(() => call(other, "cluster/member/remove", { ID: old.ID }), /not found/);
    }
    const added = { peerURLs: [member.peerUrl] };
    await patiently(() => call(other, "cluster/member/add", added), /already exists/);
    member.joinExisting();
    await member.restart();
  };
  return {
    replaceMember,
    async saveSnapshot(file) {
      const { index } = await findLeader();
      const answer = await fetch(`${endpoints[index]}/v3/maintenance/snapshot`, {
        method: "POST",
        body: "{}",
      });
      const lines = (await answer.text()).trim().split("\n");
      const blobs = lines.map((line) => (JSON.parse(line) as Snapshot).result?.blob ?? "");
      await writeFile(file, Buffer.concat(blobs.map((blob) => Buffer.from(blob, "base64"))));
    },
    async restore(file, options = {}) {
      await Promise.all(members.map((member) => member.kill()));
      // One token for all makes them one new cluster.
      const token = randomUUID();
      for (const member of members) await member.restore(file, { ...options, token });
      await Promise.all(members.map((member) => member.restart()));
    },
    async states() {
      return (await statuses()).map((one) => {
        if (one === undefined) return "silent";
        return one.leader === one.header.member_id ? "leads" : "follows";
      });
    },
    leader: async () => (await findLeader()).index,
    async moveLeader() {
      const { all, index } = await findLeader();
      const target = all.find((one, at) => at !== index && one !== undefined);
      if (target === undefined) throw new Error("no other member of etcd answers");
      await call(index, "maintenance/transfer-leadership", { targetID: target.header.member_id });
    },
    async defragment(index) {
      await call(index, "maintenance/defragment", {});
    },
    raiseNoSpace: () => patiently(() => alarm("ACTIVATE")),
    clearNoSpace: () => patiently(() => alarm("DEACTIVATE")),
  };
}
