/** What an operator does to a running etcd, through the JSON form of its gRPC services. */
export interface EtcdAdmin {
  /** The member that leads, by its place among the endpoints. */
  leader(): Promise<number>;
  /** Makes another member lead. */
  moveLeader(): Promise<void>;
  defragment(index: number): Promise<void>;
  /** All writes are refused until it is taken back. */
  raiseNoSpace(): Promise<void>;
  clearNoSpace(): Promise<void>;
}

const DEADLINE_MS = 5_000;

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader: string;
}

export function etcdAdmin(endpoints: readonly string[]): EtcdAdmin {
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
  return {
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
    raiseNoSpace: () => alarm("ACTIVATE"),
    clearNoSpace: () => alarm("DEACTIVATE"),
  };
}
