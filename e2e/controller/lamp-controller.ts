/**
 * A controller of lamps as people write them, with the official JavaScript client: an informer, a
 * finalizer, a status that follows the spec by a patch, and leader election. It speaks to one replica.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { FINALIZER, LAMP_KIND, LAMPS, type Lamp, type Street } from "./lamps.js";
import { LeaderElection } from "./leader-election.js";

const RETRY_MS = 50;
const LEASE = { namespace: "default", name: "lamps" };

export interface LampController extends AsyncDisposable {
  readonly identity: string;
  readonly isLeader: boolean;
  /** Objects in the informer's cache. */
  readonly known: number;
  /** Lets somebody else lead, and stays a candidate. */
  stepDown(): Promise<void>;
  /** As when its process dies: no word to anybody. */
  kill(): Promise<void>;
}

export function startLampController(
  identity: string,
  kubeconfig: string,
  street: Street,
): LampController {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const ending = new AbortController();
  const { signal } = ending;
  const onReign = street.crown.bind(street);
  const election = new LeaderElection({ config, ...LEASE, identity, onReign });
  const informer = openInformer(config, signal);
  const jobs = [
    election.run(signal),
    informer.start(),
    work({ config, election, street, signal, lamps: informer.list }),
  ];
  const kill = async () => {
    ending.abort();
    street.abdicate(identity);
    await informer.stop();
    await Promise.all(jobs);
  };
  return {
    identity,
    get isLeader() {
      return election.term !== undefined;
    },
    get known() {
      return informer.list().length;
    },
    async stepDown() {
      street.abdicate(identity);
      await election.stepDown();
    },
    kill,
    [Symbol.asyncDispose]: kill,
  };
}

function openInformer(config: KubeConfig, signal: AbortSignal) {
  const api = config.makeApiClient(CustomObjectsApi);
  const informer = makeInformer<Lamp>(config, LAMPS, async () => {
    return await api.listNamespacedCustomObject(LAMP_KIND);
  });
  const start = async () => {
    if (!signal.aborted) await informer.start();
  };
  informer.on("error", () => void sleep(RETRY_MS).then(start));
  return {
    start,
    stop: () => informer.stop(),
    list: () => informer.list(LAMP_KIND.namespace) as readonly Lamp[],
  };
}

interface Work {
  readonly config: KubeConfig;
  readonly election: LeaderElection;
  readonly street: Street;
  readonly signal: AbortSignal;
  /** As the informer knows them. */
  lamps(): readonly Lamp[];
}

/** Looks at all lamps again and again, as they are few. */
async function work({ config, election, street, signal, lamps }: Work): Promise<void> {
  const api = config.makeApiClient(CustomObjectsApi);
  const headers = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  const reconcile = async (known: Lamp) => {
    if (isDone(known) || election.term === undefined) return;
    const name = known.metadata?.name ?? "";
    // What is done outside of the API rests on the present, which the informer need not know yet.
    const lamp: Lamp = await api.getNamespacedCustomObject({ ...LAMP_KIND, name });
    const { metadata = {}, spec } = lamp;
    const { uid = "", generation = 0, resourceVersion, finalizers = [] } = metadata;
    const { term } = election;
    if (term === undefined || isDone(lamp)) return;
    // A patch of something that has changed is a conflict.
    const request = (body: object) => ({ ...LAMP_KIND, name, body });
    const change = (more: object) => request({ metadata: { resourceVersion, ...more } });
    if (metadata.deletionTimestamp !== undefined) {
      street.remove(term, uid);
      await api.patchNamespacedCustomObject(change({ finalizers: null }), headers);
    } else if (!finalizers.includes(FINALIZER)) {
      await api.patchNamespacedCustomObject(change({ finalizers: [FINALIZER] }), headers);
    } else {
      street.light(term, uid, spec.watts);
      const status = { watts: spec.watts, observedGeneration: generation, term };
      const body = { metadata: { resourceVersion }, status };
      await api.patchNamespacedCustomObjectStatus(request(body), headers);
    }
  };
  while (!signal.aborted) {
    // An answer that is not there, a conflict, an object that is gone: looked at again.
    await Promise.allSettled(lamps().map(reconcile));
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

function isDone({ metadata = {}, status }: Lamp): boolean {
  const isHeld = metadata.finalizers?.includes(FINALIZER) === true;
  if (metadata.deletionTimestamp !== undefined) return !isHeld;
  return isHeld && status?.observedGeneration === metadata.generation;
}
