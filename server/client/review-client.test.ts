import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { TransportError } from "./https-client.js";
import { type Review, ReviewClient, type ReviewResult } from "./review-client.js";
import { SingleFlight } from "./single-flight.js";

const never = new AbortController().signal;
const REVIEW: Review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "t" },
  status: {},
};

type Answer = { status?: number; body?: unknown; headers?: object } | TransportError;

function open(answers: Answer[]) {
  const clock = new ManualClock();
  const results: ReviewResult[] = [];
  const sent: string[] = [];
  const client = new ReviewClient({
    clock,
    random: () => 0,
    onCall: (result) => results.push(result),
    client: {
      request: async ({ body }) => {
        sent.push(String(body));
        const answer = answers.shift() ?? { status: 500 };
        if (answer instanceof Error) throw answer;
        const { status = 200, body: answerBody = { ...REVIEW, status: { ok: 1 } } } = answer;
        const text = typeof answerBody === "string" ? answerBody : JSON.stringify(answerBody);
        return { status, headers: { ...answer.headers }, body: Buffer.from(text) };
      },
    },
  });
  return { client, clock, results, sent };
}

test("S2-TR-02, S2-TR-05: a review is sent as JSON and its status comes back", async () => {
  const { client, sent, results } = open([{}]);
  assert.deepEqual(await client.ask(REVIEW, never), { ok: 1 });
  assert.deepEqual(JSON.parse(sent[0] ?? ""), { ...REVIEW, metadata: {} });
  assert.deepEqual(results, ["success"]);
});

test("S2-TR-10: what may pass by itself is tried 5 times, after 500 ms, each time 1.5 times longer", async () => {
  const { client, clock, sent, results } = open([
    { status: 500 },
    new TransportError("reset", "closed"),
    { status: 429 },
    { status: 503, headers: { "retry-after": "1" } },
    { status: 504 },
  ]);
  const asked = assert.rejects(client.ask(REVIEW, never), {
    name: "ReviewError",
    result: "timeout",
    message: "the webhook answered with status 504",
  });
  for (const [index, delayMs] of [500, 750, 1125, 1687.5].entries()) {
    await clock.untilAsleep();
    assert.equal(sent.length, index + 1);
    clock.advance(delayMs - 0.5);
    assert.equal(sent.length, index + 1);
    clock.advance(0.5);
  }
  await asked;
  assert.deepEqual(results, ["error", "error", "error", "error", "timeout"]);
});

test("S2-TR-09: other failures and malformed answers end the call at once", async () => {
  const cases: readonly (readonly [Answer, ReviewResult, RegExp])[] = [
    [{ status: 403 }, "error", /answered with status 403/],
    [{ status: 302 }, "error", /answered with status 302/],
    [{ status: 503 }, "error", /answered with status 503/],
    [new TransportError("timeout", "too late"), "timeout", /too late/],
    [new TransportError("connection", "refused"), "error", /refused/],
    [{ body: "<html>" }, "error", /not JSON/],
    [{ body: "[]" }, "error", /not an object/],
    [{ body: { ...REVIEW, status: "yes" } }, "error", /status of the webhook's answer/],
    [{ body: { ...REVIEW, kind: "Pod" } }, "error", /answered with kind "Pod"/],
    [
      { body: { ...REVIEW, apiVersion: "authentication.k8s.io/v1beta1" } },
      "error",
      /answered in version "authentication.k8s.io\/v1beta1", expected "authentication.k8s.io\/v1"/,
    ],
  ];
  for (const [answer, result, message] of cases) {
    const { client, sent } = open([answer]);
    await assert.rejects(client.ask(REVIEW, never), { name: "ReviewError", result, message });
    assert.equal(sent.length, 1);
  }
  const { client } = open([{ body: {} }]);
  assert.deepEqual(await client.ask(REVIEW, never), {}, "no version and no status: nothing said");
});

test("who gives up while a retry waits gets what the webhook had said", async () => {
  const { client, clock } = open([{ status: 500 }]);
  const controller = new AbortController();
  const asked = assert.rejects(client.ask(REVIEW, controller.signal), { message: /status 500/ });
  await clock.untilAsleep();
  controller.abort();
  await asked;
});

test("concurrent questions share one flight; leaving ends only one's own wait, the last ends all", async () => {
  const flights = new SingleFlight<number>();
  const started: AbortSignal[] = [];
  let finish: (value: number) => void = () => {};
  const start = (signal: AbortSignal) => {
    started.push(signal);
    return new Promise<number>((resolve) => {
      finish = resolve;
    });
  };
  const [a, b] = [new AbortController(), new AbortController()];
  const first = flights.run("k", start, a.signal);
  const second = flights.run("k", start, b.signal);
  a.abort(new Error("left"));
  await assert.rejects(first, { message: "left" });
  assert.equal(started[0]?.aborted, false);
  finish(7);
  assert.equal(await second, 7);
  assert.deepEqual([started.length, flights.size], [1, 0]);

  const third = flights.run("k", start, b.signal);
  b.abort(new Error("left, too"));
  await assert.rejects(third);
  assert.equal(started[1]?.aborted, true);
  assert.equal(flights.size, 0);
});
