/**
 * Api: what the page asks of the API server, through the command that serves the page. Knows the page's key, which is
 * nowhere else, and what stands between the page and the server at the moment.
 */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { parseJson } from "../../schema/parse-json.js";

/** What keeps the page from the server; undefined = nothing. */
export type Obstacle =
  /** The command has ended. */
  | { readonly kind: "gone" }
  /** It does not know this page's key. */
  | { readonly kind: "key" }
  /** The server does not take the credentials, or the command cannot reach it. */
  | { readonly kind: "credentials" | "unreachable"; readonly message: string };

/** The server's answer is a refusal, or there is none. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  /** 0 = there is no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Asked {
  readonly method?: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
}

export interface Answer {
  readonly value: JsonObject;
  /** Texts of Warning headers. */
  readonly warnings: readonly string[];
}

const PREFIX = "/k8s";
const KEY_HEADER = "x-keelson-key";
const REFUSAL_HEADER = "x-keelson-console";
const JSON_TYPE = "application/json";

export class Api {
  readonly #key: string;
  readonly #root: string;
  readonly #changed: (obstacle: Obstacle | undefined) => void;
  #obstacle: Obstacle | undefined;

  /**
   * @param root before all paths: "" or "/clusters/NAME"
   * @param changed told when an obstacle comes or goes
   */
  constructor(key: string, root: string, changed: (obstacle: Obstacle | undefined) => void) {
    this.#key = key;
    this.#root = root;
    this.#changed = changed;
  }

  /** @throws {ApiProblem} */
  async ask(path: string, signal: AbortSignal, asked: Asked = {}): Promise<Answer> {
    const answer = await this.#fetch(path, signal, asked);
    const value = parseJson(await answer.text()) as JsonObject;
    return { value, warnings: warningsOf(answer.headers.get("warning") ?? "") };
  }

  /** @throws {ApiProblem} */
  async get(path: string, signal: AbortSignal, accept = JSON_TYPE): Promise<JsonObject> {
    return (await this.ask(path, signal, { accept })).value;
  }

  /** @throws {ApiProblem} */
  async text(path: string, signal: AbortSignal): Promise<string> {
    return await (await this.#fetch(path, signal, { accept: "text/plain, */*" })).text();
  }

  /**
   * The lines of an answer that goes on, each parsed; returns when it ends. @throws {ApiProblem}
   * @param accept as for get
   */
  async *lines(path: string, signal: AbortSignal, accept = JSON_TYPE): AsyncGenerator<JsonValue> {
    const { body } = await this.#fetch(path, signal, { accept });
    if (body === null) return;
    let rest = "";
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const lines = (rest + value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") yield parseJson(line);
      }
    } catch (error) {
      throw signal.aborted ? error : new ApiProblem(0, "the answer was cut");
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  async #fetch(path: string, signal: AbortSignal, asked: Asked): Promise<Response> {
    const { method = "GET", accept = JSON_TYPE, contentType, body } = asked;
    const headers = {
      [KEY_HEADER]: this.#key,
      accept,
      ...(contentType !== undefined && { "content-type": contentType }),
    };
    let answer: Response;
    try {
      answer = await fetch(PREFIX + this.#root + path, {
        method,
        headers,
        signal,
        ...(body !== undefined && { body }),
      });
    } catch (error) {
      if (signal.aborted) throw error;
      this.#meet({ kind: "gone" });
      throw new ApiProblem(0, "the command that serves this page does not answer");
    }
    if (answer.ok) {
      this.#meet(undefined);
      return answer;
    }
    const message = await messageOf(answer);
    this.#meet(obstacleOf(answer, message));
    throw new ApiProblem(answer.status, message);
  }

  #meet(obstacle: Obstacle | undefined): void {
    if (this.#obstacle?.kind === obstacle?.kind) return;
    this.#obstacle = obstacle;
    this.#changed(obstacle);
  }
}

/** Takes the code of the page's address for a key. @throws {ApiProblem} */
export async function openSession(code: string): Promise<string> {
  const answer = await fetch("/session", { method: "POST", body: code });
  if (!answer.ok) throw new ApiProblem(answer.status, await messageOf(answer));
  return await answer.text();
}

function obstacleOf(answer: Response, message: string): Obstacle | undefined {
  const isConsoles = answer.headers.has(REFUSAL_HEADER);
  if (isConsoles && answer.status === 401) return { kind: "key" };
  if (isConsoles && answer.status === 502) return { kind: "unreachable", message };
  return answer.status === 401 ? { kind: "credentials", message } : undefined;
}

async function messageOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { message } = parseJson(text) as { message?: JsonValue };
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // What is no Status is told by its code.
  }
  return `the server answered ${answer.status}`;
}

/** `299 - "text", 299 - "text"` */
function warningsOf(header: string): string[] {
  return [...header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replace(/\\(.)/g, "$1"),
  );
}
