/**
 * What the package `keelson` exports: a fresh, empty API for tests of operators and clients, in this
 * process or in a child. Many may run side by side; each has a port, a data directory, certificates
 * and users of its own, and nothing is left when it is stopped. It is the same server as the command
 * starts, on the embedded store.
 */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { tokenKubeconfig } from "./fresh-api/access.js";
import { startChild } from "./fresh-api/api-child.js";
import { type RunningApi, startHere } from "./fresh-api/api-here.js";
import {
  checkControlPlane,
  checkFork,
  checkOptions,
  checkRequests,
  checkSettled,
  checkSnapshot,
  checkTimeline,
} from "./fresh-api/check-options.js";
import { ControlPlaneClient } from "./fresh-api/control-plane-client.js";
import { TestApiClient } from "./fresh-api/test-api-client.js";
import type { Keelson, KeelsonOptions } from "./fresh-api/types.js";

export type {
  ControlPlaneOptions,
  Fault,
  FaultedRequests,
  FaultKind,
  Keelson,
  KeelsonAccess,
  KeelsonClock,
  KeelsonControlPlane,
  KeelsonOptions,
  KeelsonUser,
  Manifest,
  RecordedRequest,
  RequestsAsked,
  ResetResult,
  SettleOptions,
  SimulationOptions,
  SimulationRule,
  Snapshot,
  TimelineOptions,
} from "./fresh-api/types.js";

/** The emitted file beside this one. */
const CHILD = fileURLToPath(new URL("./start-keelson-child.js", import.meta.url));

/** Starts an API; it is ready when the promise resolves. @throws {Error} with one line */
export async function startKeelson(options: KeelsonOptions = {}): Promise<Keelson> {
  checkOptions(options);
  const { users = [] } = options;
  const tokens = users.map(({ name }) => [name, randomBytes(24).toString("hex")] as const);
  const order = { options, tokens };
  const api = await (options.runsIn === "child" ? startChild(CHILD, order) : startHere(order));
  return toKeelson(api, new Map(tokens), options);
}

function toKeelson(
  api: RunningApi,
  tokens: ReadonlyMap<string, string>,
  { flags: { vendor } = {} }: KeelsonOptions,
): Keelson {
  const { access } = api;
  const testApi = new TestApiClient(access);
  const planes = new ControlPlaneClient(
    access,
    tokens,
    vendor === undefined ? vendor : `${vendor}`,
  );
  let ending: Promise<void> | undefined;
  const stop = () => {
    testApi.close();
    planes.close();
    ending ??= api.stop();
    return ending;
  };
  return {
    ...access,
    as(name) {
      const token = tokens.get(name);
      if (token === undefined) throw new RangeError(`no user is called ${JSON.stringify(name)}`);
      const { url, ca } = access;
      return { url, ca, token, kubeconfig: tokenKubeconfig(access, name, token) };
    },
    async requests(asked = {}) {
      checkRequests(asked);
      return await testApi.requests(asked);
    },
    async settled(options = {}) {
      checkSettled(options);
      await testApi.settled(options);
    },
    snapshot: () => testApi.snapshot(),
    clock: { now: () => testApi.now(), advance: (by) => testApi.advance(by) },
    async reset(snapshot) {
      checkSnapshot(snapshot);
      return await testApi.reset(snapshot);
    },
    fault: (requests, what) => testApi.fault(requests, what),
    async timeline(options = {}) {
      checkTimeline(options);
      return await testApi.timeline(options);
    },
    async controlPlane(asked = {}) {
      checkControlPlane(asked);
      return await planes.make(asked);
    },
    async fork(...asked: readonly unknown[]) {
      checkFork(asked[0]);
      return await planes.fork();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
