/** `startKeelson` for tests: the same, with their deadline in place of its own. */
import * as product from "../../server/start-keelson.js";
import { DEADLINE_MS } from "./eventually.js";

export const startKeelson = (options: product.KeelsonOptions = {}): Promise<product.Keelson> =>
  product.startKeelson({ deadlineMs: DEADLINE_MS, ...options });
