/** Wiring of the recorder: who tells it, who is answered, and what its metrics say. */
import { randomBytes } from "node:crypto";
import { partitionId } from "../../storage/objects/keys.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { OfOtherFolder } from "../chain/request-chain.js";
import type { Config } from "../config/config.js";
import type { Metrics } from "../metrics/metrics.js";
import { ObjectTexts } from "../recorder/object-texts.js";
import { openRecordPaths, withRecord } from "../recorder/record-endpoints.js";
import { Recorder } from "../recorder/recorder.js";
import { livingReplicas } from "../recorder/replicas.js";
import type { Access } from "./access.js";
import type { OpenedStore } from "./store.js";

export interface Recording {
  readonly recorder: Recorder;
  /** The parts of the request chain. */
  readonly steps: OfOtherFolder;
  readonly authorizer: Authorizer;
}

export interface RecordWiring {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly access: Access;
  readonly storage: Pick<OpenedStore, "encryption">;
  /** "host:port" of this replica. */
  readonly serverAddress: () => string;
}

/** undefined = nobody records, and nothing is paid for it. */
export function openRecord({
  config,
  metrics,
  access,
  storage,
  serverAddress,
}: RecordWiring): Recording | undefined {
  if (config.record === "") return undefined;
  const { view } = access.views;
  const originMs = performance.timeOrigin;
  const recorder = new Recorder({
    replica: randomBytes(4).toString("hex"),
    bytesMax: config.recordBytes,
    now: () => originMs + performance.now(),
    isConfidential: confidentialKinds(storage),
    revision: () => view.revision,
  });
  observe(metrics, recorder);
  const { authorizer } = access.authorization;
  const texts = new ObjectTexts(view);
  const now = () => Date.now();
  const replicas = () => livingReplicas({ view, naming: config.naming, own: serverAddress, now });
  return {
    recorder,
    steps: {
      outer: recorder.outer,
      inner: recorder.inner,
      middlewares: [withRecord({ recorder, authorizer, texts, replicas })],
    },
    authorizer: openRecordPaths(authorizer),
  };
}

/** Secrets, and what is encrypted at rest. */
function confidentialKinds({ encryption }: RecordWiring["storage"]) {
  return ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
    (group === "" && resource === "secrets") ||
    encryption?.store.isSecret(partitionId(group, resource)) === true;
}

function observe(metrics: Metrics, recorder: Recorder): void {
  metrics.gauge(
    {
      name: "apiserver_record_bytes",
      help: "Bytes that the recorder of --record holds, about; --record-bytes bounds them.",
      labelNames: [],
    },
    (set) => set(recorder.bytes),
  );
  metrics.gauge(
    {
      name: "apiserver_record_forgotten_total",
      help: "Records of writes that made room for newer ones.",
      labelNames: [],
    },
    (set) => set(recorder.writes.dropped),
  );
}
