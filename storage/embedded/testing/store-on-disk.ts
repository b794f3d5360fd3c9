/** For tests of the files of an embedded store: it is opened again and again. */
import { systemClock } from "../../base/clock.js";
import { silentLogger } from "../../base/logger.js";
import type { Operation, RevisionedStore } from "../../kv/store.js";
import { type EmbeddedStore, openEmbeddedStore } from "../embedded-store.js";

const { signal } = new AbortController();

export function openStore(directory: string): Promise<EmbeddedStore> {
  return openEmbeddedStore({ directory, clock: systemClock, logger: silentLogger });
}

export async function commit(store: RevisionedStore, ...operations: Operation[]) {
  return (await store.commit({ compares: [], operations }, signal)).revision;
}

export function put(key: string, text: string): Operation {
  return { type: "put", key, value: Buffer.from(text) };
}
