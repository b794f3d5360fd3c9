/**
 * A real Chromium for tests, driven by its own protocol over a pipe. It goes with the pipe, whatever becomes of the
 * test. Keys are pressed as a person presses them: the page sees trusted events.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { eventually } from "../harness/eventually.js";
import { makeTempDir, type TempDir } from "../harness/temp-dir.js";
import { findTool } from "../tools/find-tool.js";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-extensions",
  "--hide-scrollbars",
  "--disable-lcd-text",
  "--no-first-run",
  "--remote-debugging-pipe",
];

const KEYS: Readonly<Record<string, number>> = {
  Enter: 13,
  Escape: 27,
  Tab: 9,
  End: 35,
  Home: 36,
  PageDown: 34,
  PageUp: 33,
  ArrowUp: 38,
  ArrowDown: 40,
  ArrowLeft: 37,
  ArrowRight: 39,
};

export interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's CPU; absent where the machine does not count them. */
  readonly tdur?: number;
}

type Params = Readonly<Record<string, unknown>>;
type Listener = (method: string, params: Params) => void;

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

/** @returns undefined = Chromium is not to be had */
export async function openChromium(): Promise<Chromium | undefined> {
  const path = await findTool("chromium");
  return path === undefined ? undefined : new Chromium(path, await makeTempDir("chromium"));
}

export class Chromium implements AsyncDisposable {
  readonly #profile: TempDir;
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #listeners = new Map<string, Listener>();
  #last = 0;
  #rest = "";

  constructor(path: string, profile: TempDir) {
    this.#profile = profile;
    this.#process = spawn(path, [...FLAGS, `--user-data-dir=${profile.path}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    const [, , , input, output] = this.#process.stdio;
    (input as Writable).on("error", () => {});
    (output as Readable).setEncoding("utf8").on("data", (text: string) => this.#receive(text));
  }

  /** A page of a profile of its own, without anything from other pages. */
  async openPage(): Promise<Page> {
    const { browserContextId } = await this.send("Target.createBrowserContext", {});
    const { targetId } = await this.send("Target.createTarget", {
      url: "about:blank",
      browserContextId,
    });
    const attached = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, String(attached.sessionId), String(targetId));
    await page.prepare();
    return page;
  }

  /** @throws {Error} what the browser says */
  async send(method: string, params: Params, sessionId?: string): Promise<Params> {
    const id = ++this.#last;
    const [, , , input] = this.#process.stdio;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    const message = { id, method, params, ...(sessionId !== undefined && { sessionId }) };
    (input as Writable).write(`${JSON.stringify(message)}\0`);
    const { result = {}, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** @param sessionId "" = of the browser itself */
  listen(sessionId: string, listener: Listener): void {
    this.#listeners.set(sessionId, listener);
  }

  /** The tasks of all threads until `work` was done, and the marks that pages have left. */
  async trace(work: () => Promise<void>): Promise<readonly TraceEvent[]> {
    const events: TraceEvent[] = [];
    const complete = new Promise<void>((resolve) => {
      this.listen("", (method, { value }) => {
        if (method === "Tracing.dataCollected") events.push(...(value as TraceEvent[]));
        if (method === "Tracing.tracingComplete") resolve();
      });
    });
    const traceConfig = { includedCategories: ["toplevel", "blink.user_timing"] };
    await this.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
    await work();
    await this.send("Tracing.end", {});
    await complete;
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    if (this.#process.exitCode === null) {
      void this.send("Browser.close", {}).catch(() => {});
      await ended;
    }
    await this.#profile[Symbol.asyncDispose]();
  }

  #receive(text: string): void {
    const parts = (this.#rest + text).split("\0");
    this.#rest = parts.pop() ?? "";
    for (const part of parts) {
      const message = JSON.parse(part) as Message;
      if (message.id !== undefined) {
        this.#waiting.get(message.id)?.(message);
        this.#waiting.delete(message.id);
      } else {
        this.#listeners.get(message.sessionId ?? "")?.(message.method ?? "", message.params ?? {});
      }
    }
  }
}

export class Page {
  readonly #browser: Chromium;
  readonly #session: string;
  readonly #target: string;
  /** Errors and violations that the page has told on its console. */
  readonly complaints: string[] = [];

  constructor(browser: Chromium, session: string, target: string) {
    this.#browser = browser;
    this.#session = session;
    this.#target = target;
  }

  async prepare(): Promise<void> {
    this.#browser.listen(this.#session, (method, params) => {
      if (method === "Runtime.exceptionThrown") this.complaints.push(JSON.stringify(params));
      if (method !== "Log.entryAdded") return;
      const { level, source, text } = params.entry as Record<"level" | "source" | "text", string>;
      // An answer that is a refusal is told as an error of the network.
      if (level === "error" && source !== "network") this.complaints.push(text);
    });
    for (const domain of ["Page", "Runtime", "Log"]) await this.#send(`${domain}.enable`, {});
    await this.resize(1280, 800);
  }

  async resize(width: number, height: number, scheme: "light" | "dark" = "light"): Promise<void> {
    const size = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#send("Emulation.setDeviceMetricsOverride", size);
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.#send("Emulation.setEmulatedMedia", { features });
  }

  async goTo(url: string): Promise<void> {
    await this.#send("Page.navigate", { url });
    await this.waitFor("the page has loaded", "document.readyState === 'complete'");
  }

  /** The value of an expression, promises awaited. @throws {Error} what it throws */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = await this.#send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (answer.exceptionDetails !== undefined) throw new Error(JSON.stringify(answer));
    return (answer.result as { value: T }).value;
  }

  /** Waits until the expression is neither empty nor false, and gives its value. */
  async waitFor<T>(what: string, expression: string): Promise<T> {
    return (await eventually(what, () => this.evaluate<T | false>(expression))) as T;
  }

  /** Until the text that people see has this. */
  async waitForText(text: string): Promise<void> {
    await this.waitFor(
      `the page says ${text}`,
      `document.body.innerText.includes(${JSON.stringify(text)})`,
    );
  }

  /** A key by its name ("Enter"), or a character. */
  async press(key: string, { shift = false } = {}): Promise<void> {
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    const event = {
      key,
      code: key.length === 1 ? "" : key,
      windowsVirtualKeyCode: KEYS[key] ?? key.toUpperCase().charCodeAt(0),
      modifiers: shift ? 8 : 0,
    };
    const down = { ...event, type: "keyDown", ...(text !== undefined && { text }) };
    await this.#send("Input.dispatchKeyEvent", down);
    await this.#send("Input.dispatchKeyEvent", { ...event, type: "keyUp" });
  }

  /** Into what has the focus. */
  async type(text: string): Promise<void> {
    await this.#send("Input.insertText", { text });
  }

  async screenshot(): Promise<Buffer> {
    const { data } = await this.#send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(String(data), "base64");
  }

  async close(): Promise<void> {
    await this.#browser.send("Target.closeTarget", { targetId: this.#target });
  }

  async #send(method: string, params: Params): Promise<Params> {
    return await this.#browser.send(method, params, this.#session);
  }
}
