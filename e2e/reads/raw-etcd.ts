/** The store behind a subject, spoken to directly: what operators and other tenants of an etcd do. */
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEtcdStore } from "../../storage/etcd/etcd-store.js";
import { type Revision, toRevision } from "../../storage/kv/store.js";
import { soon } from "../harness/eventually.js";
import type { Subject } from "./subjects.js";

export interface RawEtcd extends AsyncDisposable {
  /** The text at a key. @throws {Error} there is none */
  get(key: string): Promise<string>;
  /** Writes any bytes at any key, whatever is there. */
  put(key: string, value: string): Promise<Revision>;
  delete(key: string): Promise<Revision>;
  compact(revision: number): Promise<void>;
}

export async function openRawEtcd({ etcd }: Subject): Promise<RawEtcd> {
  if (etcd === undefined) throw new Error("the embedded store cannot be spoken to");
  return await openRawEtcdAt(etcd.endpoint, "/registry");
}

export async function openRawEtcdAt(endpoint: string, prefix: string): Promise<RawEtcd> {
  const store = await openEtcdStore(
    { endpoints: [endpoint], prefix, clock: systemClock, logger: silentLogger },
    soon(),
  );
  const write = async (key: string, value: string | undefined): Promise<Revision> => {
    for (;;) {
      const { kv } = await store.get(key, {}, soon());
      const compares = [{ key, modRevision: kv?.modRevision ?? (0 as const) }];
      const operation =
        value === undefined
          ? ({ type: "delete", key } as const)
          : ({ type: "put", key, value: Buffer.from(value) } as const);
      const result = await store.commit({ compares, operations: [operation] }, soon());
      if (result.succeeded) return result.revision;
    }
  };
  return {
    async get(key) {
      const { kv } = await store.get(key, {}, soon());
      if (kv === undefined) throw new Error(`nothing at ${key}`);
      return kv.value.toString();
    },
    put: (key, value) => write(key, value),
    delete: (key) => write(key, undefined),
    compact: (revision) => store.compact(toRevision(revision), soon()),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
