/**
 * RequestHeaders: the header blocks of a LeanConnection's calls, made once for each path and token. They refer
 * to no dynamic table, so the same bytes mean the same in every call.
 */
import { encodeHeaders } from "./hpack.js";

export class RequestHeaders {
  readonly #authority: string;
  readonly #scheme: string;
  readonly #blocks = new Map<string, Buffer>();
  #token: string | undefined;

  /** @param authority "127.0.0.1:2379" */
  constructor(authority: string, isTls: boolean) {
    this.#authority = authority;
    this.#scheme = isTls ? "https" : "http";
  }

  /** @param traceparent the call's W3C Trace Context; undefined = it is not traced */
  block(path: string, token: string | undefined, traceparent?: string): Buffer {
    const own = this.#known(path, token);
    if (traceparent === undefined) return own;
    // Blocks are stateless, so they can be concatenated.
    return Buffer.concat([own, encodeHeaders([["traceparent", traceparent]])]);
  }

  #known(path: string, token: string | undefined): Buffer {
    if (token !== this.#token) {
      this.#blocks.clear();
      this.#token = token;
    }
    let block = this.#blocks.get(path);
    if (block === undefined) {
      block = this.#encode(path, token);
      this.#blocks.set(path, block);
    }
    return block;
  }

  #encode(path: string, token: string | undefined): Buffer {
    return encodeHeaders([
      [":method", "POST"],
      [":scheme", this.#scheme],
      [":path", path],
      [":authority", this.#authority],
      ["te", "trailers"],
      ["content-type", "application/grpc"],
      ["user-agent", "keelson"],
      // A member that is cut off from its cluster then refuses at once instead of letting us wait.
      ["hasleader", "true"],
      ...(token === undefined ? [] : [["token", token] as const]),
    ]);
  }
}
