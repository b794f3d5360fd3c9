/** What the page asks of a server's recorder, which Keelson has where it was started with `--record`. */
import type { Explanation, Loops, RecordedWrite, Timeline } from "../../recorder/record-types.js";
import type { TypeName } from "../model/routes.js";
import { type Api, ApiProblem } from "./api.js";

/** Of which object; "" = of all. */
export interface RecordedOf extends TypeName {
  readonly namespace: string;
  readonly name: string;
}

export const EVERYTHING: RecordedOf = { group: "", resource: "", namespace: "", name: "" };

const PATH = "/debug/record";
const OFF = 404;

/** @param more "limit", "sinceMs". @throws {ApiProblem} */
export async function readTimeline(
  api: Api,
  of: RecordedOf,
  more: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Timeline> {
  return (await ask(api, "timeline", { ...of, ...more }, signal)) as Timeline;
}

/** @throws {ApiProblem} */
export async function readWhy(
  api: Api,
  { group, resource, namespace, name, revision }: RecordedWrite,
  signal: AbortSignal,
): Promise<Explanation> {
  return (await ask(
    api,
    "why",
    { group, resource, namespace, name, revision },
    signal,
  )) as Explanation;
}

/** @throws {ApiProblem} */
export async function readLoops(api: Api, signal: AbortSignal): Promise<Loops> {
  return (await ask(api, "loops", {}, signal)) as Loops;
}

async function ask(
  api: Api,
  what: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<unknown> {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  try {
    return await api.get(`${PATH}/${what}?${new URLSearchParams(given)}`, signal);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== OFF) throw error;
    throw new ApiProblem(
      OFF,
      "The server keeps no record of it: it runs without --record, or it is not Keelson.",
    );
  }
}
