/**
 * Who asks etcd itself, from the core of those who measure: what of the others' waiting is not the replica's. A
 * revision read is what a consistent get waits for.
 */
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEtcdStore } from "../../storage/etcd/etcd-store.js";
import type { Sample } from "./polite.js";

const INTERVAL_MS = 20;
const ANSWER_MS_MAX = 10_000;

export async function startStoreProbe(
  endpoint: string,
  onSample: (sample: Sample) => void,
): Promise<AsyncDisposable> {
  const soon = () => AbortSignal.timeout(ANSWER_MS_MAX);
  const options = { endpoints: [endpoint], prefix: "/probe" };
  const store = await openEtcdStore(
    { ...options, clock: systemClock, logger: silentLogger },
    soon(),
  );
  const ask = async () => {
    const atMs = performance.now();
    const isAnswered = await store.currentRevision(soon()).then(
      () => true,
      () => false,
    );
    const ms = performance.now() - atMs;
    onSample({ who: "store", what: "revision", atMs, ms, status: isAnswered ? 200 : 0 });
  };
  const timer = setInterval(() => void ask(), INTERVAL_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await store[Symbol.asyncDispose]();
    },
  };
}
