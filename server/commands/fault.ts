/** `keelson fault`: orders, lists and removes the faults of a server of tests, for tests in every language. */
import type { JsonObject } from "../api/meta.js";
import { stringifyJson } from "../codec/json.js";
import type { FaultOptions } from "../config/fault-options.js";
import { connect } from "../explain/connect.js";
import { parseJson } from "../schema/parse-json.js";
import { FAULTS_PATH } from "../test-api/fault-endpoints.js";

/** @returns what is printed. @throws {Error} the server refuses or cannot be asked, in one line */
export async function orderFault(options: FaultOptions, signal: AbortSignal): Promise<string> {
  const client = await connect(options, "keelson-fault");
  try {
    const { action, id, order } = options;
    const method = { order: "POST", list: "GET", remove: "DELETE" }[action];
    const query = id === undefined ? "" : `?id=${encodeURIComponent(id)}`;
    const { status, body } = await client.request(
      {
        method,
        path: FAULTS_PATH + query,
        headers: { "content-type": "application/json" },
        ...(action === "order" && { body: stringifyJson(order as JsonObject) }),
      },
      signal,
    );
    if (status === 404)
      throw new Error(
        "the server runs without --enable-fault-injection, or is a control plane below another API",
      );
    const answer = parseJson(body) as JsonObject;
    if (status !== 200) throw new Error(`${String(answer.message)} (${status})`);
    if (action === "order") return `${String(answer.id)}\n`;
    if (action === "remove") return `removed ${String(answer.removed)}\n`;
    return (answer.items as JsonObject[]).map((fault) => `${stringifyJson(fault)}\n`).join("");
  } finally {
    client.close();
  }
}
