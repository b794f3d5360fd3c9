/**
 * Paths of a server of tests, for administrators alone: JSON in, JSON out. Where their flags are off they do not
 * exist.
 */
import { isRecord } from "../../storage/base/is-record.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { badRequest, forbiddenPath, methodNotAllowed } from "../api/status.js";
import type { Query } from "../request/query.js";
import { readBody } from "../request/read-body.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { MASTERS_GROUP } from "../request/user-info.js";
import { stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";

export interface AskedEndpoint {
  readonly query: Query;
  /** Empty without a body. */
  readonly body: JsonObject;
  readonly signal: AbortSignal;
}

/** @throws {StatusError} */
export type EndpointHandler = (asked: AskedEndpoint) => object | Promise<object>;

/** By path, and then by method. */
export type Endpoints = Readonly<Record<string, Readonly<Record<string, EndpointHandler>>>>;

export function withEndpoints(endpoints: Endpoints): RequestMiddleware {
  return async function testApi(ctx, next) {
    const { info, user } = ctx.state;
    const methods = info.isResourceRequest ? undefined : endpoints[info.path];
    if (methods === undefined) return next();
    if (!user.groups.includes(MASTERS_GROUP)) {
      throw forbiddenPath(`${info.path} is for members of ${MASTERS_GROUP}`);
    }
    const handle = methods[ctx.method];
    if (handle === undefined) throw methodNotAllowed();
    const { signal } = ctx.state;
    const answer = await handle({ query: info.query, body: await bodyOf(ctx), signal });
    ctx.status = 200;
    ctx.set("Content-Type", "application/json");
    ctx.body = `${stringifyJson(answer as JsonValue)}\n`;
  };
}

async function bodyOf(ctx: RequestContext): Promise<JsonObject> {
  const bytes = await readBody(ctx.req, { waiting: ctx.state });
  if (bytes.length === 0) return {};
  let body: JsonValue;
  try {
    body = parseJson(bytes);
  } catch (error) {
    throw badRequest("the body is no JSON", error);
  }
  if (!isRecord(body)) throw badRequest("the body is not an object");
  return body as JsonObject;
}

/** A count or a time of a query or a body. @throws {StatusError} 400 */
export function numberOf(
  name: string,
  value: JsonValue | undefined,
  { fallback, max }: { readonly fallback: number; readonly max: number },
): number {
  if (value === undefined || value === "") return fallback;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number === "number" && number >= 0 && number <= max) return number;
  throw badRequest(`${name}: not a number from 0 to ${max}`);
}
