/** What the console itself refuses, as opposed to the API server: told apart by a header, in the form of a Status. */
import type { ServerResponse } from "node:http";

/** Only the console's own answers have it. */
export const REFUSAL_HEADER = "x-keelson-console";

export function answerRefusal(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message });
  response.writeHead(status, { "Content-Type": "application/json", [REFUSAL_HEADER]: "refused" });
  response.end(body);
}
