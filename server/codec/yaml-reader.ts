/**
 * YamlReader: reads YAML that clients send. It takes about a millisecond per KiB, so texts that are not short are
 * read by worker threads, one text at a time each. A worker has a limit of memory and of time, beyond which it is
 * ended with the text that it reads, and ends when it has had nothing to do.
 *
 * The readers of all control planes have the workers together, and take turns with them.
 *
 *     1 KiB, and JSON of 60 KiB     read at once, on the thread that serves
 *     100 KiB                       read by a worker, to the text of JSON; the caller waits, and parses it as it likes
 */
import { Worker } from "node:worker_threads";
import { InTurns } from "../../storage/base/in-turns.js";
import { parseYaml, parseYamlAsJson, type YamlResult, YamlSyntaxError } from "./yaml.js";
import type { YamlAnswer } from "./yaml-worker.js";

/** Longer texts go to a worker: handing one over costs as much as reading this much. */
const SHORT_CHARS_MAX = 4 * 1024;
/** Longer texts go to a worker even if they are JSON. */
const SHORT_JSON_CHARS_MAX = 64 * 1024;
/** Worker threads at a time; each uses a core while it reads. */
const WORKERS_MAX = 2;
/** Texts of one reader that wait for a worker. */
const WAITING_MAX = 64;
/** 3 MiB of common YAML take some seconds. */
const READ_MS_MAX = 15_000;
/** Of a worker: a definition of 1.6 MB takes less than 100, and all workers together stay within the growth that one client may cause. */
const MEMORY_MIB_MAX = 128;
/** Young collections then run more often, and take less of the memory. */
const YOUNG_MIB_MAX = 16;
/** How long a worker without work stays. */
const IDLE_MS = 30_000;

const PROGRAM = new URL("./yaml-worker.js", import.meta.url);

/** More YAML at a time than is read. */
export class YamlBusyError extends Error {
  override readonly name = "YamlBusyError";
}

/** What a text means, as JSON. */
export interface YamlAsJson extends Omit<YamlResult, "value"> {
  readonly json: string;
}

interface Job {
  readonly text: string;
  readonly resolve: (result: YamlAsJson) => void;
  readonly reject: (error: Error) => void;
}

/** Of one control plane. */
export class YamlReader {
  readonly #workers: YamlWorkers;
  readonly #waiting: Job[] = [];
  readonly #piece = () => this.#begin();

  /** @param workers default: it has its own */
  constructor(workers = new YamlWorkers()) {
    this.#workers = workers;
  }

  /** Texts that wait for a worker. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @throws {YamlSyntaxError}; {YamlBusyError} */
  read(text: string): YamlResult | Promise<YamlAsJson> {
    if (text.length <= SHORT_CHARS_MAX) return parseYaml(text);
    const json = text.length <= SHORT_JSON_CHARS_MAX ? parseYamlAsJson(text) : undefined;
    if (json !== undefined) return json;
    if (this.#waiting.length >= WAITING_MAX) {
      throw new YamlBusyError(`${WAITING_MAX} bodies of YAML wait to be read`);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      this.#workers.add(this.#piece);
    });
  }

  #begin(): boolean {
    const job = this.#waiting.shift();
    if (job !== undefined) this.#workers.read(job);
    return this.#waiting.length > 0;
  }
}

export interface YamlWorkersOptions {
  /** Default: READ_MS_MAX. */
  readonly readMsMax?: number;
}

/** The threads of all readers of a process. */
export class YamlWorkers {
  readonly #readMsMax: number;
  readonly #readers = new InTurns();
  readonly #idle: YamlWorker[] = [];
  #workers = 0;

  constructor({ readMsMax = READ_MS_MAX }: YamlWorkersOptions = {}) {
    this.#readMsMax = readMsMax;
  }

  get workers(): number {
    return this.#workers;
  }

  /** @param reader gives one text to `read`, when it is its turn */
  add(reader: () => boolean): void {
    this.#readers.add(reader);
    this.#next();
  }

  /** Within a reader's turn. */
  read(job: Job): void {
    const worker = this.#takeIdle() ?? this.#start();
    worker.read(job, this.#readMsMax, () => {
      if (worker.hasEnded) this.#workers--;
      else this.#keep(worker);
      this.#next();
    });
  }

  #next(): void {
    while (!this.#readers.isEmpty && this.#isOneFree) this.#readers.next();
  }

  get #isOneFree(): boolean {
    return this.#idle.length > 0 || this.#workers < WORKERS_MAX;
  }

  /** One that ended while it had nothing to do is forgotten. */
  #takeIdle(): YamlWorker | undefined {
    for (let worker = this.#idle.pop(); worker !== undefined; worker = this.#idle.pop()) {
      worker.stay();
      if (!worker.hasEnded) return worker;
      this.#workers--;
    }
    return undefined;
  }

  #start(): YamlWorker {
    this.#workers++;
    return new YamlWorker();
  }

  #keep(worker: YamlWorker): void {
    this.#idle.push(worker);
    worker.endLater(() => {
      this.#idle.splice(this.#idle.indexOf(worker), 1);
      this.#workers--;
    });
  }
}

/** One thread, which reads one text at a time. */
class YamlWorker {
  readonly #worker = new Worker(PROGRAM, {
    resourceLimits: {
      maxOldGenerationSizeMb: MEMORY_MIB_MAX,
      maxYoungGenerationSizeMb: YOUNG_MIB_MAX,
    },
    // Nothing of the server's flags or its environment concerns a reader.
    execArgv: [],
    env: {},
  });
  #timer: NodeJS.Timeout | undefined;
  #end: (outcome: YamlAnswer | Error) => void = () => {};
  hasEnded = false;

  constructor() {
    // A server that stops does not wait for its readers.
    this.#worker.unref();
    this.#worker.on("message", (answer: YamlAnswer) => this.#end(answer));
    this.#worker.on("error", () => this.#fail("reading the YAML takes too much memory"));
    this.#worker.on("exit", () => this.#fail("reading the YAML ended early"));
  }

  read({ text, resolve, reject }: Job, readMsMax: number, done: () => void): void {
    this.#timer = setTimeout(() => {
      void this.#worker.terminate();
      this.#fail(`reading the YAML takes more than ${readMsMax} ms; send JSON`);
    }, readMsMax);
    this.#end = (outcome) => {
      clearTimeout(this.#timer);
      this.#end = () => {};
      if (outcome instanceof Error) reject(outcome);
      else if ("problem" in outcome) reject(new YamlSyntaxError(outcome.problem));
      else resolve({ ...outcome, json: Buffer.from(outcome.json.buffer).toString("utf8") });
      done();
    };
    this.#worker.postMessage(text);
  }

  /** It is not ended for want of work. */
  stay(): void {
    clearTimeout(this.#timer);
  }

  endLater(gone: () => void): void {
    this.#timer = setTimeout(() => {
      this.hasEnded = true;
      gone();
      void this.#worker.terminate();
    }, IDLE_MS);
    this.#timer.unref();
  }

  #fail(why: string): void {
    this.hasEnded = true;
    this.#end(new YamlSyntaxError(why));
  }
}
