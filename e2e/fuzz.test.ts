/**
 * Thousands of requests that nobody has thought of, from a seed: paths, queries, headers and bodies that
 * are almost right, over keep-alive connections with several requests under way, and streams of
 * bytes that are hardly HTTP. No answer may be a 5xx, every refusal is a Status, and the server
 * lives. KEELSON_SEED repeats a run, KEELSON_FUZZ_REQUESTS makes it longer.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { SEED } from "../storage/base/testing/random.js";
import { within } from "./harness/eventually.js";
import { isLong } from "./harness/is-long.js";
import { RawConnection } from "./harness/raw-http.js";
import { type FuzzRequest, RequestFuzzer } from "./harness/request-fuzzer.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";

const REQUESTS = Number(process.env.KEELSON_FUZZ_REQUESTS ?? (isLong ? 20_000 : 6_000));
/** Of these so many are broken below HTTP: each costs a connection. */
const BROKEN_REQUESTS = Math.round(REQUESTS / 50);
const CONNECTIONS = 8;
/** Requests under way on one connection. */
const PIPELINED = 8;
/** A 5xx there says that the other side cannot be reached, unless it says that we failed. */
const PASSED_ON = /^[A-Z]+ \S*\/(proxy|log|exec|attach|portforward)\b/;
const DEFECT = /failed unexpectedly/;
const LATE = /the store is not reachable or has no quorum/;
/** Enough to see what is wrong. */
const FINDINGS_MAX = 10;

describe(`fuzz of the HTTP front (seed ${SEED})`, () => {
  let server: ServerProcess;
  const findings: string[] = [];
  before(async () => {
    server = await startServer();
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "fuzz" } };
    (await server.client.post("/api/v1/namespaces", namespace)).expect(201);
  });
  after(() => server[Symbol.asyncDispose]());

  test(`${REQUESTS - BROKEN_REQUESTS} strange requests: no 5xx, every refusal a Status`, async (t) => {
    const counts = new Map<number, number>();
    const work = Array.from({ length: CONNECTIONS }, (_, index) => {
      const count = Math.ceil((REQUESTS - BROKEN_REQUESTS) / CONNECTIONS);
      return runConnection(new RequestFuzzer(SEED + index), count, counts);
    });
    await Promise.all(work);
    t.diagnostic(`answers by status: ${JSON.stringify(Object.fromEntries([...counts].sort()))}`);
    assert.deepEqual(findings.splice(0), [], `seed ${SEED}`);
    assert.equal(server.hasEnded, false);
  });

  test(`${BROKEN_REQUESTS} broken ones: refused or cut off, and the server lives`, async () => {
    const fuzzer = new RequestFuzzer(SEED + 1_000);
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (let count = 0; count < BROKEN_REQUESTS / CONNECTIONS; count++) {
          const bytes = fuzzer.nextBroken();
          const connection = await RawConnection.open(server.port, server.credentials);
          const answer = connection.send(bytes);
          connection.end();
          const received = await within(`an end to ${describeBytes(bytes)}`, answer);
          connection.destroy();
          if (received !== undefined && received.status >= 500 && !isLate(received)) {
            report(`${received.status} to ${describeBytes(bytes)}`);
          }
        }
      }),
    );
    assert.deepEqual(findings.splice(0), [], `seed ${SEED}`);
  });

  test("bytes that are not TLS are cut off", async () => {
    const fuzzer = new RequestFuzzer(SEED + 2_000);
    for (let count = 0; count < 50; count++) {
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.resume();
      const closed = once(socket, "close");
      socket.end(fuzzer.nextBytes(200));
      await within("the connection is closed", closed);
    }
  });

  test("after all of this the server is ready and stops in good order", async () => {
    (await server.client.get("/readyz")).expect(200);
    assert.doesNotMatch(server.logs, /uncaughtException|unhandledRejection/);
    await server.stop();
  });

  async function runConnection(
    fuzzer: RequestFuzzer,
    count: number,
    counts: Map<number, number>,
  ): Promise<void> {
    const open = () => RawConnection.open(server.port, server.credentials);
    let current = open();
    let left = count;
    let unanswered = 0;
    const lane = async () => {
      while (left > 0 && findings.length < FINDINGS_MAX) {
        left--;
        const request = fuzzer.next();
        const opened = current;
        let used = await opened;
        if (!used.isOpen) {
          // The first lane that notices opens the next one for all.
          if (current === opened) current = open();
          used = await current;
        }
        const answer = used.send(request.bytes, request.isHead);
        const received = await within(`an answer to ${request.summary}`, answer);
        if (received === undefined) {
          // Closed by the answer to an earlier one of this connection: this one was not looked at.
          if (++unanswered <= count / 10) left++;
          else report("connections are closed too often");
          continue;
        }
        counts.set(received.status, (counts.get(received.status) ?? 0) + 1);
        judge(request, received.status, received.body, received.head);
      }
    };
    await Promise.all(Array.from({ length: PIPELINED }, lane));
    (await current).destroy();
  }

  function judge(request: FuzzRequest, status: number, body: Buffer, head: string): void {
    const isRefusal = isLate({ status, body, head }) || PASSED_ON.test(request.summary);
    const isDefect = status >= 500 && (!isRefusal || DEFECT.test(`${body}`));
    if (status < 200 || isDefect) report(`${status} to ${request.summary}: ${body}`);
    if (status < 400 || request.isHead || !/^content-type: *application\/json/im.test(head)) return;
    const parsed = JSON.parse(body.toString()) as { kind?: string; code?: number };
    if (parsed.kind !== "Status" || parsed.code !== status) {
      report(`${status} without a Status to ${request.summary}: ${body.subarray(0, 200)}`);
    }
  }

  /** A busy machine's store may be late, which is no defect, and whoever asked is told to come again. */
  function isLate(answer: { status: number; body: Buffer; head: string }): boolean {
    const { status, body, head } = answer;
    return status === 503 && /^retry-after:/im.test(head) && LATE.test(`${body}`);
  }

  function report(finding: string): void {
    if (findings.length < FINDINGS_MAX) findings.push(finding.slice(0, 2_000));
  }
});

function describeBytes(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString("latin1").slice(0, 400));
}
