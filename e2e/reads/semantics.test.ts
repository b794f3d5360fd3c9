/**
 * The three tables of get, list and watch, cell by cell, while others write: every answer must be
 * the state (or the events) that its cell promises. One table, three subjects.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Answer, WatchEvent } from "../harness/https-client.js";
import { eventsUntil, History, revisionOf, toPast, toText, toVersions } from "./history.js";
import { openSubject, SUBJECT_NAMES, type Subject } from "./subjects.js";

/** Requests per cell; over three replicas each replica is asked several times. */
const ROUNDS = 6;

type Promised = "mostRecent" | "any" | "atLeast" | "exact" | 400 | 422;

/** {n} stands for a version of a few writes ago. */
const LIST_CELLS: readonly [ids: string, query: string, promised: Promised][] = [
  ["S1-RV-04", "", "mostRecent"],
  ["S1-RV-05, S1-RV-23", "resourceVersion=0", "any"],
  ["S1-RV-06, S1-RV-25", "resourceVersion={n}", "atLeast"],
  ["S1-RV-07", "limit=3", "mostRecent"],
  ["S1-RV-08", "limit=3&resourceVersion=0", "any"],
  ["S1-RV-09", "limit=3&resourceVersion={n}", "exact"],
  ["S1-RV-13", "resourceVersionMatch=Exact", 422],
  ["S1-RV-14", "resourceVersionMatch=Exact&resourceVersion=0", 422],
  ["S1-RV-15, S1-RV-26", "resourceVersionMatch=Exact&resourceVersion={n}", "exact"],
  ["S1-RV-16", "resourceVersionMatch=Exact&limit=3", 422],
  ["S1-RV-16", "resourceVersionMatch=Exact&limit=3&resourceVersion=0", 422],
  ["S1-RV-17", "resourceVersionMatch=Exact&limit=3&resourceVersion={n}", "exact"],
  ["S1-RV-18", "resourceVersionMatch=NotOlderThan", 422],
  ["S1-RV-19", "resourceVersionMatch=NotOlderThan&resourceVersion=0", "any"],
  ["S1-RV-20", "resourceVersionMatch=NotOlderThan&resourceVersion={n}", "atLeast"],
  ["S1-RV-21", "resourceVersionMatch=NotOlderThan&limit=3", 422],
  ["S1-RV-22", "resourceVersionMatch=NotOlderThan&limit=3&resourceVersion=0", "any"],
  ["S1-RV-22", "resourceVersionMatch=NotOlderThan&limit=3&resourceVersion={n}", "atLeast"],
];

const STREAMING =
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/** What a watch begins with: the state that its cell promises, or nothing but the later events. */
const WATCH_CELLS: readonly [ids: string, query: string, promised: Promised, marked: boolean][] = [
  ["S1-WATCH-11", "", "mostRecent", false],
  ["S1-WATCH-12", "resourceVersion=0", "any", false],
  ["S1-WATCH-13, S1-WATCH-01", "resourceVersion={n}", "exact", false],
  ["S1-WATCH-17, S1-WATCH-18, S1-WATCH-20", STREAMING, "mostRecent", true],
  ["S1-WATCH-17, S1-WATCH-20", `${STREAMING}&resourceVersion=0`, "any", true],
  ["S1-WATCH-19, S1-WATCH-20", `${STREAMING}&resourceVersion={n}`, "atLeast", true],
  ["S1-WATCH-20, C-19", "allowWatchBookmarks=true", "mostRecent", true],
];

for (const name of SUBJECT_NAMES) {
  describe(`reads on ${name}`, () => {
    let subject: Subject;
    before(async () => {
      subject = await openSubject(name);
    });
    after(() => subject[Symbol.asyncDispose]());

    test("S1-RV-01..03: get is the most recent, any, or not older than asked", async () => {
      await using history = await History.open(subject, "get-cells");
      await history.create(subject.next(), "m");
      history.startWriter(subject);
      for (let round = 0; round < 4 * ROUNDS; round++) {
        const revision = revisionOf(await history.update(subject.next(), "m"));
        const url = `${history.path}/m`;
        const recent = (await subject.next().get(url)).expect(200).object;
        assert.equal(revisionOf(recent), revision, "S1-RV-01: most recent");
        const notOlder = await subject.next().get(`${url}?resourceVersion=${revision}`);
        assert.equal(revisionOf(notOlder.expect(200).object), revision, "S1-RV-03: not older");
        // Any state will do, so also one from before the object was there.
        const any = await subject.next().get(`${url}?resourceVersion=0`);
        if (any.status === 404) continue;
        assert.ok(revisionOf(any.expect(200).object) <= revision, "S1-RV-02: any");
      }
      await history.stop();
    });

    test("S1-RV-04..22: every cell of the list table is the state it promises", async (t) => {
      await using history = await History.open(subject, "list-cells");
      for (const object of ["m-0", "m-1", "m-2"]) await history.create(subject.next(), object);
      history.startWriter(subject);
      const checks: (() => Promise<void>)[] = [];
      for (const [ids, query, promised] of LIST_CELLS) {
        const asked: Asked[] = [];
        for (let round = 0; round < ROUNDS; round++) asked.push(await askList(history, query));
        checks.push(async () => {
          await t.test(`${ids}: ?${query} is ${promised}`, () => {
            for (const answer of asked) checkList(history, answer, promised);
          });
        });
      }
      await history.stop();
      for (const check of checks) await check();
    });

    test("S1-RV-10..12: a continue token alone decides the state", async () => {
      await using history = await History.open(subject, "token-cells");
      for (const object of ["a", "b", "c", "d", "e"]) await history.create(subject.next(), object);
      history.startWriter(subject);
      const chains: Answer[][] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const first = (await subject.next().get(`${history.path}?limit=2`)).expect(200);
        const { continue: token = "" } = first.object.metadata;
        for (const query of ["", "&resourceVersion=0", "&limit=0"]) {
          const url = `${history.path}?continue=${token}${query}`;
          const rest = (await subject.next().get(url)).expect(200, url);
          assert.equal(revisionOf(rest.object), revisionOf(first.object), "S1-COLL-04");
          chains.push([first, rest]);
        }
        const refused = await subject
          .next()
          .get(`${history.path}?continue=${token}&resourceVersion=${history.floor}`);
        assert.equal(refused.status, 400, "S1-RV-12");
        assert.equal(
          refused.object.message,
          "specifying resource version is not allowed when using continue",
        );
      }
      await history.stop();
      for (const [first, rest] of chains as [Answer, Answer][]) {
        const whole = toVersions([...first.items, ...rest.items]);
        assert.deepEqual(whole, history.stateAt(revisionOf(first.object)));
      }
    });

    test("S1-WATCH-11..20: every cell of the watch table begins where it promises", async (t) => {
      await using history = await History.open(subject, "watch-cells");
      for (const object of ["m-0", "m-1", "m-2"]) await history.create(subject.next(), object);
      history.startWriter(subject);
      const checks: (() => Promise<void>)[] = [];
      for (const [ids, query, promised, marked] of WATCH_CELLS) {
        const seen: Watched[] = [];
        for (let round = 0; round < 3; round++) {
          const cell = WATCH_CELLS.findIndex(([, other]) => other === query);
          seen.push(await askWatch(history, query, `marker-${cell}-${round}`));
        }
        checks.push(async () => {
          await t.test(`${ids}: ?${query} begins with ${promised}`, () => {
            for (const watched of seen) checkWatch(history, watched, promised, marked);
          });
        });
      }
      await history.stop();
      for (const check of checks) await check();
    });

    interface Asked {
      readonly answer: Answer;
      readonly floor: number;
      readonly asked: number;
      readonly limit: number;
    }

    async function askList(history: History, query: string): Promise<Asked> {
      const floor = history.floor;
      const asked = history.writesAgo(3);
      const url = `${history.path}?${query.replace("{n}", String(asked))}`;
      const limit = Number(/limit=(\d+)/.exec(query)?.[1] ?? 0);
      return { answer: await subject.next().get(url), floor, asked, limit };
    }

    interface Watched {
      readonly events: readonly WatchEvent[];
      readonly floor: number;
      readonly asked: number;
    }

    async function askWatch(history: History, query: string, marker: string): Promise<Watched> {
      const floor = history.floor;
      const asked = history.writesAgo(3);
      const url = `${history.path}?watch=1&${query.replace("{n}", String(asked))}`;
      const events = await eventsUntil(subject.next(), url, marker, async () => {
        await history.create(subject.next(), marker);
      });
      return { events, floor, asked };
    }
  });

  function checkList(
    history: History,
    {
      answer,
      floor,
      asked,
      limit,
    }: { answer: Answer; floor: number; asked: number; limit: number },
    promised: Promised,
  ): void {
    if (typeof promised === "number") {
      answer.expect(promised);
      assert.equal(answer.object.reason, promised === 400 ? "BadRequest" : "Invalid");
      return;
    }
    const { object, items } = answer.expect(200);
    const revision = revisionOf(object);
    if (promised === "mostRecent") assert.ok(revision >= floor, `${revision} is before ${floor}`);
    if (promised === "atLeast") assert.ok(revision >= asked, `${revision} is before ${asked}`);
    if (promised === "exact") assert.equal(revision, asked);
    const state = history.stateAt(revision);
    assert.deepEqual(toVersions(items), limit === 0 ? state : state.slice(0, limit));
    const isPart = limit > 0 && limit < state.length;
    assert.equal((object.metadata.continue ?? "") !== "", isPart);
    const remaining = (object.metadata as { remainingItemCount?: number }).remainingItemCount;
    assert.equal(remaining, isPart ? state.length - limit : undefined);
  }

  function checkWatch(
    history: History,
    watched: { events: readonly WatchEvent[]; floor: number; asked: number },
    promised: Promised,
    marked: boolean,
  ): void {
    const { floor, asked } = watched;
    const all = watched.events.map((event) => toText(toPast(event)));
    if (promised === "exact") {
      const expected = history.eventsAfter(asked).slice(0, all.length);
      assert.deepEqual(all, expected);
      return;
    }
    const start = marked ? markedStart(watched.events) : fittingStart(history, all, floor);
    if (promised === "mostRecent") assert.ok(start >= floor, `${start} is before ${floor}`);
    if (promised === "atLeast") assert.ok(start >= asked, `${start} is before ${asked}`);
    const plain = watched.events.filter(({ type }) => type !== "BOOKMARK");
    const expected = startingAt(history, start).slice(0, plain.length);
    assert.deepEqual(
      plain.map((event) => toText(toPast(event))),
      expected,
    );
  }
}

function startingAt(history: History, revision: number): string[] {
  const initial = history.stateAt(revision).map((version) => `ADDED ${version}`);
  return [...initial, ...history.eventsAfter(revision)];
}

/** The version of the bookmark that ends the initial events; what is before it must be the state. */
function markedStart(events: readonly WatchEvent[]): number {
  const at = events.findIndex(
    ({ type, object }) =>
      type === "BOOKMARK" && object.metadata.annotations?.["k8s.io/initial-events-end"] === "true",
  );
  assert.ok(at >= 0, "a bookmark ends the initial events");
  const { object } = events[at] as WatchEvent;
  assert.equal(object.kind, "ConfigMap", "S1-WATCH-06: of the requested type");
  assert.ok(events.slice(0, at).every(({ type }) => type === "ADDED"));
  return revisionOf(object);
}

/** The version whose state and following events are what was seen. */
function fittingStart(history: History, seen: readonly string[], floor: number): number {
  const candidates = history.events.map(({ revision }) => revision);
  // Several may: an object that comes last in the list may also have come last in time.
  const fits = candidates.findLast((revision) => {
    const expected = startingAt(history, revision).slice(0, seen.length);
    return JSON.stringify(expected) === JSON.stringify(seen);
  });
  assert.ok(fits !== undefined, `no version explains ${seen.join(", ")} (floor ${floor})`);
  return fits;
}
