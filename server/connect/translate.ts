/**
 * The channels of a WebSocket (v5.channel) as streams of SPDY, for agents that do not take WebSockets.
 *
 *   WebSocket                          SPDY to the agent
 *   0 stdin      {0, bytes}      ─►    stream "stdin"
 *   1 stdout     {1, bytes}      ◄─    stream "stdout"
 *   2 stderr     {2, bytes}      ◄─    stream "stderr"
 *   3 error      {3, Status}     ◄─    stream "error": how it ended; the last message
 *   4 resize     {4, size}       ─►    stream "resize"
 *   255 close    {255, 0}        ─►    the end of "stdin"
 *
 * The client's WebSocket is opened first; later failures are reported on the error channel. Back-pressure
 * applies in both directions; when the client disconnects, the agent's connection is closed.
 */
import type { WebSocket } from "ws";
import type { Naming } from "../api/naming.js";
import { internalError, type Status, StatusError, serviceUnavailable } from "../api/status.js";
import { openUpgrade, type UpgradeOutcome, type UpgradeRequest } from "../client/pass-upgrade.js";
import { describeFailure } from "../outbound/failures.js";
import type { EndAnswer } from "../request/lasting-answers.js";
import type { RequestContext } from "../request/request-state.js";
import type { Upgrade } from "../request/upgrade.js";
import type { StreamOptions } from "./options.js";
import { acceptWebSocket, bytesOf, sendMessage } from "./server-web-socket.js";
import { SpdySession, type SpdyStream } from "./spdy/session.js";

export interface Translation {
  readonly naming: Naming;
  /** The request to the agent. */
  readonly asked: UpgradeRequest;
  /** Receives the resulting status code. */
  readonly onEnd: (code: number) => void;
}

const CHANNEL = Object.freeze({ stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 });

/** The agent's time limit for opening the streams of a connection. */
const STREAMS_TIMEOUT_MS = 30_000;
/** The limit of the final status. */
const STATUS_BYTES_MAX = 64 * 1024;
/** RFC 6455 section 7.4.1: a normal closure. */
const CLOSE_NORMAL = 1000;
/** The client's time limit for the closing handshake. */
const CLOSE_TIMEOUT_MS = 5_000;

/** The reason of a status with an exit code. */
const NON_ZERO_EXIT = "NonZeroExitCode";

/**
 * Starts it in the background.
 * @returns ends it, and tells the client why on the error channel
 * @throws {StatusError} 400 if it is not a WebSocket
 */
export function translate(
  ctx: RequestContext,
  upgrade: Upgrade,
  options: StreamOptions,
  translation: Translation,
): EndAnswer {
  let client: WebSocket;
  try {
    client = acceptWebSocket(ctx, upgrade, `v5.channel.${translation.naming.groupDomain}`);
  } catch (error) {
    translation.onEnd(400);
    throw error;
  }
  const ending = new AbortController();
  void serve(client, options, translation, ending.signal);
  return (why) => ending.abort(serviceUnavailable(why));
}

/** Runs until the process ends or the client disconnects. Never rejects. */
async function serve(
  client: WebSocket,
  options: StreamOptions,
  { naming, asked, onEnd }: Translation,
  ending: AbortSignal,
): Promise<void> {
  const inbox = new Inbox(client);
  // The stream that a client waits on if it has no input.
  const first = options.stdout ? "stdout" : options.stderr ? "stderr" : "error";
  void sendMessage(client, Buffer.from([CHANNEL[first]]));
  let end: { status: object; code: number };
  try {
    const running = run(client, inbox, options, { naming, asked, ending });
    end = await Promise.race([running, reasonOf(ending)]);
  } catch (error) {
    const told =
      error instanceof StatusError
        ? error
        : internalError(error instanceof Error ? describeFailure(error) : String(error));
    end = { status: told.status, code: told.code };
  }
  onEnd(end.code);
  // Else a client may take its time to read what the process said.
  if (ending.aborted) cutSoon(client);
  await sendMessage(client, Buffer.from([CHANNEL.error]), Buffer.from(JSON.stringify(end.status)));
  client.close(CLOSE_NORMAL);
  cutSoon(client);
}

/** Rejects when it is aborted, with its reason. */
function reasonOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function cutSoon(client: WebSocket): void {
  const timer = setTimeout(() => client.terminate(), CLOSE_TIMEOUT_MS);
  client.once("close", () => clearTimeout(timer));
}

async function run(
  client: WebSocket,
  inbox: Inbox,
  options: StreamOptions,
  {
    naming,
    asked,
    ending,
  }: Pick<Translation, "naming" | "asked"> & { readonly ending: AbortSignal },
): Promise<{ status: object; code: number }> {
  const version = `v4.channel.${naming.groupDomain}`;
  const headers = [...asked.headers, "x-stream-protocol-version", version];
  const outcome = await openUpgrade({ ...asked, headers });
  if (outcome.type === "answered") throw refusalOf(outcome);
  const session = new SpdySession(outcome.socket, { isClient: true });
  const cut = () => session.destroy();
  client.once("close", cut);
  ending.addEventListener("abort", cut, { once: true });
  if (client.readyState !== client.OPEN || ending.aborted) cut();
  const timer = setTimeout(cut, STREAMS_TIMEOUT_MS);
  try {
    const open = (streamtype: string) => session.open({ streamtype });
    const error = await open("error");
    const ended = readStatus(error);
    // The first failure is reported; this one may come later.
    ended.catch(() => {});
    const { tty } = options;
    // Opens all streams before any data, which could keep the agent from reading the next one.
    const stdin = options.stdin ? await open("stdin") : undefined;
    const stdout = options.stdout ? await open("stdout") : undefined;
    // A terminal has one output.
    const stderr = options.stderr && !tty ? await open("stderr") : undefined;
    const resize = tty ? await open("resize") : undefined;
    clearTimeout(timer);
    inbox.deliver(CHANNEL.stdin, stdin);
    inbox.deliver(CHANNEL.resize, resize);
    await Promise.all([
      stdout && passOutput(stdout, CHANNEL.stdout, client),
      stderr && passOutput(stderr, CHANNEL.stderr, client),
    ]);
    return await ended;
  } finally {
    clearTimeout(timer);
    client.off("close", cut);
    ending.removeEventListener("abort", cut);
    session.close();
  }
}

/** Queues the client's messages: reads no faster than the streams accept, and not before they are open. */
class Inbox {
  readonly #client: WebSocket;
  readonly #streams = new Map<number, SpdyStream | undefined>();
  readonly #waiting: Buffer[] = [];

  constructor(client: WebSocket) {
    this.#client = client;
    client.on("message", (message) => {
      this.#waiting.push(bytesOf(message));
      this.#work();
    });
  }

  /** Connects a channel to a stream; undefined = its messages are dropped. */
  deliver(channel: number, stream: SpdyStream | undefined): void {
    this.#streams.set(channel, stream);
    stream?.on("drain", () => this.#work());
    stream?.resume();
    this.#work();
  }

  #work(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const [channel = 0, closed] = next;
      const isClose = channel === CHANNEL.close;
      const meant = isClose ? (closed ?? 0) : channel;
      const isKnown = meant === CHANNEL.stdin || meant === CHANNEL.resize;
      const stream = this.#streams.get(meant);
      const mustWait = isKnown && (!this.#streams.has(meant) || stream?.writableNeedDrain === true);
      if (mustWait) {
        // Received messages still arrive; one socket read bounds them.
        this.#client.pause();
        return;
      }
      this.#waiting.shift();
      if (stream === undefined || stream.writableEnded || stream.destroyed) continue;
      if (isClose) stream.end();
      else if (next.length > 1) stream.write(next.subarray(1));
    }
    this.#client.resume();
  }
}

/** Resolves at the end of the output. */
function passOutput(stream: SpdyStream, channel: number, client: WebSocket): Promise<void> {
  const head = Buffer.from([channel]);
  // Nothing is sent on it.
  stream.end();
  return new Promise((resolve, reject) => {
    stream.on("data", (chunk: Buffer) => {
      stream.pause();
      void sendMessage(client, head, chunk).then(() => stream.resume());
    });
    stream.once("end", resolve);
    stream.once("error", reject);
    stream.once("close", resolve);
  });
}

/** The exit status of the process; empty = success. */
function readStatus(stream: SpdyStream): Promise<{ status: object; code: number }> {
  stream.end();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= STATUS_BYTES_MAX) chunks.push(chunk);
    });
    stream.once("end", () => {
      try {
        resolve(statusOf(Buffer.concat(chunks).toString("utf8")));
      } catch (error) {
        reject(error);
      }
    });
    stream.once("error", (error) => {
      reject(new Error(`error reading from error stream: ${error.message}`));
    });
  });
}

const SUCCESS = Object.freeze({ metadata: {}, status: "Success" });

function statusOf(text: string): { status: object; code: number } {
  if (text === "") return { status: SUCCESS, code: 200 };
  let status: Partial<Status>;
  try {
    status = JSON.parse(text) as Partial<Status>;
  } catch {
    throw new Error(`error stream protocol error: unknown error (${text.slice(0, 200)})`);
  }
  if (status.status === "Success") return { status: SUCCESS, code: 200 };
  // A process that fails was still executed as requested.
  const code = status.reason === NON_ZERO_EXIT ? 200 : (status.code ?? 500);
  return { status, code };
}

/** Why the agent refused, in its own words if it sent a Status. */
function refusalOf({ body }: Extract<UpgradeOutcome, { type: "answered" }>): StatusError {
  const text = body.toString("utf8").trim();
  try {
    const status = JSON.parse(text) as Partial<Status>;
    if (status.kind === "Status" && typeof status.code === "number") {
      return new StatusError(status as Status);
    }
  } catch {
    // Words.
  }
  return internalError(`unable to upgrade connection: ${text}`);
}
