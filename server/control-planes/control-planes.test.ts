/** Which control planes are in memory, and which make room for others. */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { StatusError } from "../api/status.js";
import type { ControlPlaneEntry, ControlPlaneIndex } from "./control-plane-index.js";
import { ControlPlanes, type LoadedControlPlane } from "./control-planes.js";
import { Usage } from "./usage.js";

const RESOURCE = { group: "tenancy.k8s.io", resource: "controlplanes" };

/** Those of any name but one are there; loading needs no store, and takes as long as a name is held. */
function openPlanes(loadedMax: number) {
  const clock = new ManualClock();
  const usages = new Map<string, Usage>();
  const suspended = new Set<string>();
  let tell: (name: string) => void = () => {};
  const index = {
    subscribe(listener: (name: string) => void) {
      tell = listener;
    },
    find: (name: string): ControlPlaneEntry | undefined =>
      name === "unknown"
        ? undefined
        : {
            ...{ name, uid: `uid-${name}`, creator: "", isEnding: false },
            ...{ isSuspended: suspended.has(name), limits: {}, cloneFrom: undefined },
          },
  } as unknown as ControlPlaneIndex;
  const suspend = (name: string, is: boolean) => {
    suspended[is ? "add" : "delete"](name);
    tell(name);
  };
  const closings = new Map<string, PromiseWithResolvers<void>>();
  const asked = { fresh: 0, refused: [] as IncomingMessage[] };
  const begun: string[] = [];
  const held = new Map<string, PromiseWithResolvers<void>>();
  const planes = new ControlPlanes({
    ...{ index, resource: RESOURCE, clock, logger: silentLogger, idleMs: 60_000, loadedMax },
    async fresh() {
      asked.fresh++;
    },
    refuse: (request) => {
      asked.refused.push(request);
    },
    hasTokenOf: async () => false,
    hasCredential: ({ headers }) => headers.authorization !== undefined,
    async load(entry) {
      if (entry.name === "slow") throw new DOMException("", "TimeoutError");
      begun.push(entry.name);
      if (entry.name.startsWith("clone")) await planes.openForLoad("original");
      await held.get(entry.name)?.promise;
      const usage = new Usage(clock, () => ({}));
      const close = async () => await closings.get(entry.name)?.promise;
      usages.set(entry.name, usage);
      return { entry, usage, close } as unknown as LoadedControlPlane;
    },
  });
  return { clock, planes, usages, asked, begun, held, closings, suspend };
}

const names = (planes: ControlPlanes) => planes.loaded.map(({ entry }) => entry.name);

test("beyond the bound the control plane that was unused for longest makes room", async () => {
  const { clock, planes, usages } = openPlanes(2);
  for (const name of ["a", "b"]) {
    await planes.open(name);
    await clock.advance(1_000);
  }
  const used = usages.get("a");
  assert.ok(used);
  used.lastUsedMs = clock.now();
  await planes.open("c");
  assert.deepEqual(names(planes), ["a", "c"]);
});

test("one in use makes no room: another is refused with 503, and loaded when it is idle", async () => {
  const { planes } = openPlanes(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const using = planes.use("a", () => promise);
  await new Promise(setImmediate);
  await assert.rejects(planes.open("b"), (error) => {
    return error instanceof StatusError && error.code === 503;
  });
  assert.deepEqual(names(planes), ["a"]);
  resolve();
  await using;
  await planes.open("b");
  assert.deepEqual(names(planes), ["b"]);
});

test("44: one that is suspended while it closes, or while it loads, is not served to who waited", async () => {
  const { planes, suspend, closings, held } = openPlanes(5);
  const isForbidden = (error: unknown) => error instanceof StatusError && error.code === 403;
  await planes.open("a");
  closings.set("a", Promise.withResolvers());
  suspend("a", true);
  suspend("a", false);
  const waiting = assert.rejects(planes.open("a"), isForbidden);
  await new Promise(setImmediate);
  suspend("a", true);
  closings.get("a")?.resolve();
  await waiting;
  held.set("b", Promise.withResolvers());
  const loading = assert.rejects(planes.open("b"), isForbidden);
  await new Promise(setImmediate);
  suspend("b", true);
  held.get("b")?.resolve();
  await loading;
  assert.deepEqual(names(planes), []);
});

const NO_RESPONSE = {} as ServerResponse;

function request(name: string, authorization?: string): IncomingMessage {
  return { url: `/clusters/${name}/api`, headers: { authorization } } as IncomingMessage;
}

test("a request without a credential asks the store nothing and loads nothing, whatever it names", async () => {
  const { planes, asked } = openPlanes(2);
  const requests = [request("a"), request("unknown")];
  for (const one of requests) planes.answer(one, NO_RESPONSE);
  await new Promise(setImmediate);
  assert.deepEqual(asked.refused, requests);
  assert.deepEqual([asked.fresh, planes.counts.loads], [0, 0]);
});

test("a name that is not there is looked for once more in the store, and refused with the reason kept", async () => {
  const { planes, asked } = openPlanes(2);
  const missed = request("unknown", "Bearer x");
  planes.answer(missed, NO_RESPONSE);
  await new Promise(setImmediate);
  assert.deepEqual([asked.fresh, planes.counts.misses], [1, 1]);
  assert.deepEqual(asked.refused, [missed]);
  assert.equal(planes.refusalOf(missed)?.code, 404);
});

test("44: one that takes too long to load is 503, as who asks again loads it again", async () => {
  const { planes } = openPlanes(1);
  const answered = new Promise<number>((resolve) => {
    const response = {
      statusCode: 0,
      setHeader() {},
      end() {
        resolve(response.statusCode);
      },
    };
    planes.answer(request("slow", "Bearer x"), response as unknown as ServerResponse);
  });
  assert.equal(await answered, 503);
  const isUnavailable = (error: unknown) => error instanceof StatusError && error.code === 503;
  await assert.rejects(
    planes.use("slow", async () => {}),
    isUnavailable,
  );
});

test("44: clients of a clone are not told what it is a clone of, when that takes long to load", async () => {
  const { clock, planes, held } = openPlanes(10);
  held.set("original", Promise.withResolvers());
  const isDiscreet = (error: unknown) =>
    error instanceof StatusError && error.code === 503 && !error.message.includes("original");
  const first = assert.rejects(planes.open("clone"), isDiscreet);
  await new Promise(setImmediate);
  await clock.advance(10_000);
  const second = assert.rejects(planes.open("clone"), isDiscreet);
  await clock.advance(10_000);
  await Promise.all([first, second]);
  held.get("original")?.resolve();
});

test("44: four load at a time, the others behind them in their order, and none that was let go meanwhile", async () => {
  const { planes, begun, held } = openPlanes(10);
  const all = ["a", "b", "c", "d", "e", "f", "g"];
  for (const name of all.slice(0, 4)) held.set(name, Promise.withResolvers());
  const opened = all.map((name) => planes.open(name).catch(({ code }) => code));
  await new Promise(setImmediate);
  assert.deepEqual([begun, planes.loading], [["a", "b", "c", "d"], 7]);
  void planes.unload("f");
  held.get("c")?.resolve();
  await opened[6];
  assert.deepEqual(begun, ["a", "b", "c", "d", "e", "g"]);
  assert.equal(await opened[5], 503);
  for (const { resolve } of held.values()) resolve();
  await Promise.all(opened);
  assert.deepEqual([names(planes), planes.loading], [["a", "b", "c", "d", "e", "g"], 0]);
});

test("44: who waits for 20 seconds is told 503, and what was begun is not thrown away", async () => {
  const { clock, planes, held } = openPlanes(10);
  held.set("a", Promise.withResolvers());
  const refused = planes.open("a").catch(({ code }) => code);
  await new Promise(setImmediate);
  await clock.advance(20_000);
  assert.equal(await refused, 503);
  const again = planes.open("a");
  held.get("a")?.resolve();
  assert.equal((await again).entry.name, "a");
  assert.equal(planes.counts.loads, 1);
});

test("44: loads that need another one do not stand in its way, and no more load at a time behind them", async () => {
  const { planes, begun, held } = openPlanes(40);
  const clones = Array.from({ length: 12 }, (_, at) => `clone-${at}`);
  await Promise.all([...clones, "last"].map((name) => planes.open(name)));
  assert.deepEqual(names(planes).toSorted(), [...clones, "last", "original"].toSorted());
  begun.length = 0;
  const more = ["a", "b", "c", "d", "e"];
  for (const name of more) held.set(name, Promise.withResolvers());
  const opened = more.map((name) => planes.open(name));
  await new Promise(setImmediate);
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
  for (const { resolve } of held.values()) resolve();
  await Promise.all(opened);
});
