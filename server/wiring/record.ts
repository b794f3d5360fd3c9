/** Wiring of the recorder: who tells it, who is answered, and what its metrics say. */
import { randomBytes } from "node:crypto";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { JsonObject } from "../api/meta.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { OfOtherFolder } from "../chain/request-chain.js";
import type { Config } from "../config/config.js";
import type { Metrics } from "../metrics/metrics.js";
import { ObjectTexts } from "../recorder/object-texts.js";
import { type PeerAccess, Peers } from "../recorder/peers.js";
import { cursorOf } from "../recorder/record-batch.js";
import { openRecordPaths, withRecord } from "../recorder/record-endpoints.js";
import { RecordFiles } from "../recorder/record-files.js";
import { Recorder } from "../recorder/recorder.js";
import { livingReplicas } from "../recorder/replicas.js";
import type { Access } from "./access.js";
import type { OpenedRecordDirectory } from "./record-directory.js";
import type { OpenedStore } from "./store.js";

export interface Recording {
  readonly recorder: Recorder;
  /** The parts of the request chain. */
  readonly steps: OfOtherFolder;
  /** Begins to fill the directory, if there is one: the view is loaded. */
  keep(lifecycle: Lifecycle): void;
  /** Its connections to other replicas. */
  close(): void;
  readonly authorizer: Authorizer;
}

export interface RecordWiring {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly access: Access;
  readonly storage: Pick<OpenedStore, "encryption">;
  /** "host:port" of this replica. */
  readonly serverAddress: () => string;
  readonly logger: Logger;
  readonly peerAccess: PeerAccess;
  /** Absent = records are in memory alone. */
  readonly recordDirectory?: OpenedRecordDirectory | undefined;
}

/** undefined = nobody records, and nothing is paid for it. */
export function openRecord({
  config,
  metrics,
  access,
  storage,
  serverAddress,
  logger,
  peerAccess,
  recordDirectory,
}: RecordWiring): Recording | undefined {
  if (config.record === "") return undefined;
  const { view } = access.views;
  const originMs = performance.timeOrigin;
  const recorder = new Recorder({
    replica: recordDirectory?.restored.replica || randomBytes(4).toString("hex"),
    restored: recordDirectory?.restored,
    bytesMax: config.recordBytes,
    now: () => originMs + performance.now(),
    isConfidential: confidentialKinds(storage),
    revision: () => view.revision,
  });
  const texts = new ObjectTexts(view);
  const store = () => uidOf(texts, config.naming.systemNamespace);
  const kept = recordDirectory && keepFiles({ recorder, ...recordDirectory, store, view, logger });
  const dropped = () => kept?.dropped() ?? 0;
  const failures = () => kept?.failures() ?? 0;
  const bytes = () => recordDirectory?.directory.bytes ?? 0;
  observe(metrics, recorder, { dropped, failures, bytes });
  const { authorizer } = access.authorization;
  const now = () => Date.now();
  const { naming } = config;
  const living = () => livingReplicas({ view, naming, own: serverAddress, now });
  const peers = new Peers(peerAccess, living);
  return {
    recorder,
    steps: {
      outer: recorder.outer,
      inner: recorder.inner,
      middlewares: [withRecord({ recorder, authorizer, texts, peers, dropped })],
    },
    keep: (lifecycle) => kept?.begin(lifecycle),
    close: () => peers[Symbol.dispose](),
    authorizer: openRecordPaths(authorizer),
  };
}

/** Secrets, and what is encrypted at rest. */
function confidentialKinds({ encryption }: RecordWiring["storage"]) {
  return ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
    (group === "" && resource === "secrets") ||
    encryption?.store.isSecret(partitionId(group, resource)) === true;
}

interface FilesParts extends OpenedRecordDirectory {
  readonly recorder: Recorder;
  /** Names the store; "" = it is not known. */
  readonly store: () => string;
  readonly view: Access["views"]["view"];
  readonly logger: Logger;
}

/** From when the view is there: it says whether what was restored speaks of this store. */
function keepFiles({ recorder, directory, restored, store, view, logger }: FilesParts) {
  const from = cursorOf(recorder);
  let files: RecordFiles | undefined;
  return {
    dropped: () => files?.dropped ?? 0,
    failures: () => files?.failures ?? 0,
    begin(lifecycle: Lifecycle) {
      const own = store();
      const newest = restored.writes.reduce((max, { revision }) => Math.max(max, revision), 0);
      if (restored.store !== "" && (restored.store !== own || newest > view.revision)) {
        recorder.forgetRestored();
        logger.info({}, "the records in the directory of --record are of another store: left out");
      }
      const { replica } = recorder;
      files = new RecordFiles({
        ...{ directory, source: recorder, replica, store: own, from },
        clock: systemClock,
        logger,
      });
      const running = files;
      lifecycle.spawn("record files", "restart", (signal) => running.run(signal));
    },
  };
}

function uidOf(texts: ObjectTexts, name: string): string {
  const found = texts.read({ group: "", resource: "namespaces", namespace: "", name });
  return String((found?.metadata as JsonObject | undefined)?.uid ?? "");
}

function observe(
  metrics: Metrics,
  recorder: Recorder,
  files: Readonly<Record<"dropped" | "failures" | "bytes", () => number>>,
): void {
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge({ name, help }, (set) => set(value()));
  gauge(
    "apiserver_record_bytes",
    "Bytes that the recorder of --record holds, about; --record-bytes bounds them.",
    () => recorder.bytes,
  );
  gauge(
    "apiserver_record_forgotten_total",
    "Records of writes that made room for newer ones.",
    () => recorder.writes.dropped,
  );
  gauge(
    "apiserver_record_directory_bytes",
    "Bytes of the files in the directory of --record; --record-bytes bounds them.",
    files.bytes,
  );
  gauge(
    "apiserver_record_dropped_total",
    "Records that left the memory before the directory of --record took them.",
    files.dropped,
  );
  gauge(
    "apiserver_record_directory_failures_total",
    "Tries to write to the directory of --record that failed, about one a second while its disk is full.",
    files.failures,
  );
}
