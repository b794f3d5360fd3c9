/** `keelson why` and `keelson blame`: what the recorder of a server says about an object. */
import type { JsonObject } from "../api/meta.js";
import type { HttpsClient } from "../client/https-client.js";
import { stringifyJson } from "../codec/json.js";
import type { BlameOptions, WhyOptions } from "../config/why-options.js";
import { connect } from "../explain/connect.js";
import { blameFields } from "../recorder/blame.js";
import { type Blame, type Explanation, type Loops, RECORD_PATH } from "../recorder/record-types.js";
import { drawTimeline } from "../recorder/svg-timeline.js";
import { formatBlame, formatExplanation, formatLoops } from "./format-why.js";
import { readRecordedWrites, recordQueryOf } from "./recorded-writes.js";
import { askServer, findResource, listResources, pathOf, reasonOf } from "./server-resources.js";

const USER_AGENT = "keelson-why";
const OFF =
  "the server keeps no record: it runs without --record, is a control plane below another API, or is not Keelson";

/** @returns what is printed. @throws {Error} in one line: nothing is recorded of it, or nobody can be asked */
export async function explainWhy(
  options: WhyOptions,
  signal: AbortSignal,
): Promise<string | { output: string; exitCode: number }> {
  const client = await connect(options, USER_AGENT);
  try {
    if (options.isLoops) return await tellLoops(client, options, signal);
    const resource = findResource(await listResources(client, signal), options.type);
    const { revision, form } = options;
    const query = recordQueryOf(resource, options, revision === "" ? {} : { revision });
    const explanation = (await ask(client, `why?${query}`, signal)) as unknown as Explanation;
    if (form === "json") return `${stringifyJson(explanation as never)}\n`;
    if (form === "text") return formatExplanation(explanation);
    return picture(explanation, `why ${resource.name} ${options.name}`);
  } finally {
    client.close();
  }
}

async function tellLoops(client: HttpsClient, options: WhyOptions, signal: AbortSignal) {
  const { form } = options;
  const loops = (await ask(client, "loops", signal)) as unknown as Loops;
  const output = form === "json" ? `${stringifyJson(loops as never)}\n` : formatLoops(loops);
  return { output, exitCode: loops.loops.length > 0 ? 1 : 0 };
}

/** The chain, with what each of its writes was made upon and its likeliest candidate: all of them are nothing to look at. */
function picture({ steps, writes, clients }: Explanation, title: string): string {
  const followed = new Set(steps.map((step) => `${step.write} ${step.followed}`));
  const links = steps.flatMap(({ exact, candidates }) => [
    ...exact,
    ...candidates.filter(({ rank, write, to }) => rank === 1 || followed.has(`${write} ${to}`)),
  ]);
  const drawn = new Set(links.flatMap(({ write, to }) => [write, to]));
  for (const { write } of steps) drawn.add(write);
  const shown = writes.filter(({ id }) => drawn.has(id));
  return drawTimeline({ title, lanes: "client", clients, writes: shown, links, followed });
}

/** @returns what is printed. @throws {Error} in one line: it is not there, or nobody can be asked */
export async function blame(options: BlameOptions, signal: AbortSignal): Promise<string> {
  const client = await connect(options, USER_AGENT);
  try {
    const resource = findResource(await listResources(client, signal), options.type);
    const path = pathOf(resource, options.namespace, options.name);
    const answer = await askServer(client, { path }, signal);
    if (answer.status !== 200) throw new Error(reasonOf(answer));
    const object = answer.value;
    const { writes, clients, replicas } = await readRecordedWrites(
      client,
      resource,
      options,
      signal,
    );
    const fields = blameFields(object, writes, clients);
    const found: Blame = { kind: "Blame", replicas, object, fields };
    return options.form === "json" ? `${stringifyJson(found as never)}\n` : formatBlame(found);
  } finally {
    client.close();
  }
}

async function ask(
  client: HttpsClient,
  question: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  const answer = await askServer(client, { path: `${RECORD_PATH}/${question}` }, signal);
  if (answer.status === 200) return answer.value;
  const { details } = answer.value as { readonly details?: { readonly kind?: string } };
  if (answer.status === 404 && details?.kind === "writes") {
    throw new Error("no write of it is recorded, or none that you may read");
  }
  throw new Error(answer.status === 404 || answer.status === 403 ? OFF : reasonOf(answer));
}
