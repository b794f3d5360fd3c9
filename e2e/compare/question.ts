/** One question of the comparison. */
import type { Json } from "./one-change.js";

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  /** Changes the object that is there, and sends that. */
  readonly edit?: (stored: Json) => Json;
}
