/**
 * A link of the network for tests: a TCP proxy that forwards bytes both ways until it is told to lose
 * the answers, to hold everything back, to be slow or lossy, or to cut all connections. It stands in the
 * way as a program, not as a network: what it holds back the kernel has acknowledged to the sender, and a
 * lost packet shows as what TCP makes of it, the wait for it to be sent again, with all behind it waiting too.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** How bytes travel, each way; what is left out is as good as here. */
export interface LinkQuality {
  readonly delayMs?: number;
  readonly bytesPerSecond?: number;
  /** The share of pieces (at most 64 KiB each) that are lost at their first sending. */
  readonly lossShare?: number;
}

export interface TcpProxy extends AsyncDisposable {
  /** "http://127.0.0.1:<port>" (or https, as the target). */
  readonly endpoint: string;
  /** How many connections are open. */
  readonly connections: number;
  /** From now on what the target says is thrown away; requests still reach it. */
  loseAnswers(): void;
  /** Resolves when the target has said something that was thrown away. */
  waitForLostAnswer(): Promise<void>;
  /** Resets all open connections; later ones work, and answers pass again. */
  cut(): void;
  /** Whether new connections are reset at once. */
  refuse(isRefusing: boolean): void;
  /** Whether nothing passes, either way, on old and new connections; it goes on where it stopped. */
  hold(isHolding: boolean): void;
  /** From now on; {} = as good as here. */
  setQuality(quality: LinkQuality): void;
}

/** Linux's least wait before a packet is sent again; it doubles with each loss. */
const RETRANSMISSION_MS = 200;
/** A sender that is faster than the link is made to wait. */
const QUEUE_BYTES_MAX = 1024 * 1024;

/** One direction of one connection: what came, in order, each piece with the moment at which it arrives. */
class Direction {
  readonly #source: Socket;
  readonly #sink: Socket;
  readonly #link: Link;
  readonly #queue: { readonly chunk: Buffer; readonly dueMs: number }[] = [];
  #queuedBytes = 0;
  #lastDueMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #hasClosed = false;

  constructor(source: Socket, sink: Socket, link: Link) {
    this.#source = source;
    this.#sink = sink;
    this.#link = link;
    source.on("data", (chunk: Buffer) => this.#take(chunk));
    source.once("end", () => {
      this.#hasEnded = true;
      this.pass();
    });
    // An end does not overtake what was sent before it.
    source.once("close", () => {
      this.#hasClosed = true;
      this.pass();
    });
    sink.once("close", () => clearTimeout(this.#timer));
    sink.on("drain", () => this.#readOn());
  }

  /** Sends on what has arrived by now. */
  pass(): void {
    clearTimeout(this.#timer);
    if (this.#link.isHolding) return;
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) break;
      const waitMs = first.dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pass(), waitMs);
        return;
      }
      this.#queue.shift();
      this.#queuedBytes -= first.chunk.length;
      this.#sink.write(first.chunk);
    }
    if (this.#hasClosed) this.#sink.destroy();
    else if (this.#hasEnded) this.#sink.end();
    else this.#readOn();
  }

  #take(chunk: Buffer): void {
    const { quality, isHolding, isLosing } = this.#link;
    if (isLosing) {
      this.#link.onLost();
      return;
    }
    if (this.#queue.length === 0 && !isHolding && quality === GOOD) {
      if (!this.#sink.write(chunk)) this.#source.pause();
      return;
    }
    this.#queue.push({ chunk, dueMs: this.#arrival(chunk, quality) });
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes > QUEUE_BYTES_MAX) this.#source.pause();
    if (this.#queue.length === 1) this.pass();
  }

  #arrival(chunk: Buffer, quality: LinkQuality): number {
    const { delayMs = 0, bytesPerSecond = Number.POSITIVE_INFINITY, lossShare = 0 } = quality;
    let lostMs = 0;
    for (let waitMs = RETRANSMISSION_MS; Math.random() < lossShare; waitMs *= 2) lostMs += waitMs;
    const sentMs = (chunk.length / bytesPerSecond) * 1_000;
    const now = performance.now();
    // What is sent behind a piece comes behind it; the delay runs for all at the same time.
    this.#lastDueMs = Math.max(now + delayMs, this.#lastDueMs) + sentMs + lostMs;
    return this.#lastDueMs;
  }

  #readOn(): void {
    if (this.#queuedBytes <= QUEUE_BYTES_MAX && !this.#sink.writableNeedDrain)
      this.#source.resume();
  }
}

const GOOD: LinkQuality = {};

interface Link {
  quality: LinkQuality;
  isHolding: boolean;
  isLosing: boolean;
  onLost(): void;
}

/**
 * Starts a proxy before `target` ("http://127.0.0.1:2379").
 * @param answerDelayMs how long what the target says is on its way, in order; requests arrive at once
 */
export async function startTcpProxy(target: string, answerDelayMs = 0): Promise<TcpProxy> {
  const { hostname, port, protocol } = new URL(target);
  const sockets = new Set<Socket>();
  const directions = new Set<Direction>();
  let onLost: (() => void)[] = [];
  const requests: Link = { quality: GOOD, isHolding: false, isLosing: false, onLost() {} };
  const answers: Link = {
    quality: answerDelayMs === 0 ? GOOD : { delayMs: answerDelayMs },
    isHolding: false,
    isLosing: false,
    onLost() {
      for (const resolve of onLost.splice(0)) resolve();
    },
  };
  let isRefusing = false;

  const server = createServer((client) => {
    if (isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => sockets.delete(socket));
    }
    const both = [
      new Direction(client, upstream, requests),
      new Direction(upstream, client, answers),
    ];
    for (const one of both) directions.add(one);
    upstream.once("close", () => {
      for (const one of both) directions.delete(one);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;

  const passOn = () => {
    for (const direction of directions) direction.pass();
  };
  const cut = () => {
    answers.isLosing = false;
    onLost = [];
    for (const socket of sockets) {
      // One that is ending already cannot be reset without losing its handle.
      if (socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  return {
    endpoint: `${protocol}//127.0.0.1:${address.port}`,
    get connections() {
      return sockets.size / 2;
    },
    loseAnswers() {
      answers.isLosing = true;
    },
    waitForLostAnswer: () => new Promise((resolve) => onLost.push(resolve)),
    cut,
    refuse(value) {
      isRefusing = value;
    },
    hold(value) {
      requests.isHolding = value;
      answers.isHolding = value;
      passOn();
    },
    setQuality(quality) {
      requests.quality = isGood(quality) ? GOOD : quality;
      answers.quality = requests.quality;
    },
    [Symbol.asyncDispose]: async () => {
      requests.isHolding = false;
      answers.isHolding = false;
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

function isGood({ delayMs, bytesPerSecond, lossShare }: LinkQuality): boolean {
  return delayMs === undefined && bytesPerSecond === undefined && lossShare === undefined;
}
