/** Requests that wait for the thread, over real connections. */
import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { Authorizer } from "../authz/authorizer.js";
import { mandatoryObjects } from "../flowcontrol/default-objects.js";
import { FlowControl } from "../flowcontrol/flow-control.js";
import { NO_TIMES } from "../flowcontrol/flow-counts.js";
import { Headroom } from "../flowcontrol/headroom.js";
import { toLevelSetting, toSchemaSetting } from "../flowcontrol/settings.js";
import { Turns } from "../flowcontrol/turns.js";
import type { RequestMiddleware } from "../request/request-state.js";
import { withFlowControl } from "./flow-control.js";
import { type Front, openFront } from "./testing/test-front.js";

const PODS = "/api/v1/namespaces/default/pods";
const CONNECTIONS = 64;
const ASKED_PER_CONNECTION = 20;
const WORK_MS = 0.5;

const ALLOW: Authorizer = {
  name: "all",
  authorize: () => ({ decision: "allow", reason: "" }),
};

/** A front whose requests take the thread for a while, and its turns. */
async function openBusyFront(): Promise<{ front: Front; turns: Turns; pausedMax: () => number }> {
  const { levels, schemas } = mandatoryObjects(createNaming(DEFAULT_VENDOR));
  const flowControl = new FlowControl({
    seats: 600,
    patienceMs: 15_000,
    mandatory: {
      levels: levels.map(toLevelSetting),
      schemas: schemas.map(toSchemaSetting),
    },
    times: NO_TIMES,
    nowMs: performance.now(),
  });
  const turns = new Turns(new Headroom(1));
  let pausedMax = 0;
  const work: RequestMiddleware = async (ctx) => {
    const untilMs = performance.now() + WORK_MS;
    while (performance.now() < untilMs);
    pausedMax = Math.max(pausedMax, turns.pausedConnections);
    ctx.body = "done";
  };
  const front = await openFront({
    handler: work,
    authorizer: ALLOW,
    flowControl: withFlowControl({
      flowControl,
      turns,
      widthOf: () => 1,
      watchersOf: () => 0,
      metrics: { countTermination: () => {} },
    }),
  });
  return { front, turns, pausedMax: () => pausedMax };
}

/** The status; "gone" when a new connection could not be opened. */
function askOver(agent: Agent, { port, certificates }: Front): Promise<number | "gone"> {
  return new Promise((resolve, reject) => {
    const tls = { ca: certificates.servingAuthority, host: "127.0.0.1", port };
    const outgoing = request({ ...tls, path: PODS, agent }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    outgoing.once("error", (error) => (outgoing.reusedSocket ? reject(error) : resolve("gone")));
    outgoing.end();
  });
}

/** The statuses of so many requests over each of the connections. */
async function askAll(agent: Agent, front: Front): Promise<Set<number | "gone">> {
  const statuses = new Set<number | "gone">();
  const client = async () => {
    for (let asked = 0; asked < ASKED_PER_CONNECTION; asked++) {
      statuses.add(await askOver(agent, front));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return statuses;
}

test("of a client with many connections few requests are read at a time, and all of them are answered", async () => {
  const { front, turns, pausedMax } = await openBusyFront();
  await using _ = front;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

  assert.deepEqual([...(await askAll(agent, front))], [200]);
  assert.ok(pausedMax() > CONNECTIONS / 4, `${pausedMax()} were paused`);
  while (turns.pausedConnections > 0) await new Promise(setImmediate);
  agent.destroy();
});

test("S2-HEALTH-12: what clients ask on connections that are not read yet is answered when a replica ends", async () => {
  const { front, turns } = await openBusyFront();
  await using _ = front;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const answers: number[] = [];
  const client = async () => {
    for (;;) {
      const answer = await askOver(agent, front);
      if (answer === "gone") return;
      answers.push(answer);
    }
  };
  const clients = Promise.all(Array.from({ length: CONNECTIONS }, client));
  while (turns.pausedConnections < CONNECTIONS / 4) await new Promise(setImmediate);
  await front.listener.close(10_000, 50);
  await clients;

  assert.deepEqual([...new Set(answers)], [200]);
  agent.destroy();
});
