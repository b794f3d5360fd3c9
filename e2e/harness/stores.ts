/** The two stores that every end-to-end promise is checked on. */
import { startEtcd } from "../tools/etcd.js";
import { isLong } from "./is-long.js";

export type StoreName = "embedded" | "etcd";

export const STORE_NAMES: readonly StoreName[] = ["embedded", "etcd"];

/** For tests that take long: the contract suite holds the embedded store to the same all the time. */
export const STORE_NAMES_OF_SLOW_TESTS: readonly StoreName[] = isLong ? STORE_NAMES : ["etcd"];

export interface StoreForTest extends AsyncDisposable {
  readonly name: StoreName;
  /** What `startServer` wants to hear: none for the embedded store. */
  readonly etcd: { readonly etcdEndpoints?: readonly string[] };
}

/** A store without content: a fresh etcd, or nothing, as the embedded store is in the data folder. */
export async function openStore(name: StoreName): Promise<StoreForTest> {
  if (name === "embedded") return { name, etcd: {}, async [Symbol.asyncDispose]() {} };
  const etcd = await startEtcd();
  return {
    name,
    etcd: { etcdEndpoints: [etcd.endpoint] },
    [Symbol.asyncDispose]: () => etcd.stop(),
  };
}
