/** Refuses a request before anything knows what its client likes: as JSON. */
import type { ServerResponse } from "node:http";
import type { StatusError } from "../api/status.js";

export function refuseRequest(response: ServerResponse, { code, status }: StatusError): void {
  response.statusCode = code;
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Cache-Control", "no-cache, private");
  const { retryAfterSeconds } = status.details ?? {};
  if (retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(retryAfterSeconds));
  response.end(Buffer.from(`${JSON.stringify(status)}\n`));
}
