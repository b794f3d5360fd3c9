/** What answers a request of either version of HTTP: the request chains of this process. */
import type { IncomingMessage, ServerResponse } from "node:http";

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;
