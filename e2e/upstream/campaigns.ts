/**
 * What is asked of both peers: definitions as they are judged, and objects as they are pruned, given
 * defaults, judged, patched and shown. Everything comes from a seed.
 */

import { REFUSED } from "../../server/registry/apiextensions/testing/refused-definitions.js";
import { type Random, seededRandom } from "../consistency/random.js";
import { DEFINITIONS, definitionOf, versionOf } from "../fixtures/definitions.js";
import { eventually } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { compare, type Difference } from "./compare.js";
import { drawValue } from "./draw-object.js";
import { drawSchema, type Schema, withOddities } from "./draw-schema.js";
import type { Peers } from "./peers.js";

export interface Tally {
  asked: number;
  accepted: number;
  readonly differences: Difference[];
}

const GROUP = "example.com";

function drawnDefinition(plural: string, spec: Schema): object {
  const versions = [versionOf({ type: "object", properties: { spec } })];
  return definitionOf(`${plural}.${GROUP}`, `Kind${plural}`, { scope: "Cluster", versions });
}

async function ask(
  peers: Peers,
  tally: Tally,
  method: string,
  path: string,
  body?: unknown,
  contentType = "application/json",
): Promise<number> {
  const headers = { "content-type": contentType };
  const options = body === undefined ? { method } : { method, headers, body };
  const { status, difference } = await compare(peers, path, options);
  tally.asked += 1;
  if (status < 300) tally.accepted += 1;
  // Where the peer fails there is nothing to compare with.
  if (difference !== undefined && status < 500)
    tally.differences.push({ ...difference, sent: body });
  return status;
}

/** Definitions with a mistake each, whose causes the tables hold. */
export async function judgeRefused(peers: Peers): Promise<Tally> {
  const tally: Tally = { asked: 0, accepted: 0, differences: [] };
  for (const definition of Object.values(REFUSED)) {
    await ask(peers, tally, "POST", `${DEFINITIONS}?dryRun=All`, definition);
  }
  return tally;
}

/** Definitions that are judged and not kept. */
export async function judgeDefinitions(peers: Peers, seed: number, count: number): Promise<Tally> {
  const tally: Tally = { asked: 0, accepted: 0, differences: [] };
  for (let round = 0; round < count; round += 1) {
    const random = seededRandom(seed + round);
    const sound = drawSchema(random, 2);
    const schema = random.chance(0.75) ? withOddities(sound, random) : sound;
    await ask(peers, tally, "POST", `${DEFINITIONS}?dryRun=All`, drawnDefinition("things", schema));
  }
  return tally;
}

/** Objects of definitions that both take. */
export async function judgeObjects(peers: Peers, seed: number, count: number): Promise<Tally> {
  const tally: Tally = { asked: 0, accepted: 0, differences: [] };
  for (let round = 0; tally.asked < count; round += 1) {
    const random = seededRandom(seed + round);
    const schema = drawSchema(random);
    const plural = `kinds${round}`;
    const definition = drawnDefinition(plural, schema);
    const posted = await Promise.all(
      [peers.theirs, peers.ours].map((peer) => peer.post(DEFINITIONS, definition)),
    );
    if (posted.every(({ status }) => status === 201)) {
      await waitUntilServed(peers.theirs, plural);
      await tryObjects(peers, tally, plural, schema, random);
    }
    const path = `${DEFINITIONS}/${plural}.${GROUP}`;
    await Promise.all([peers.theirs.delete(path), peers.ours.delete(path)]);
  }
  return tally;
}

async function waitUntilServed(peer: HttpsClient, plural: string): Promise<void> {
  const path = `/apis/${GROUP}/v1/${plural}`;
  await eventually(`${plural} is served`, async () => (await peer.get(path)).status === 200);
}

const FAULTS = [0, 0.03, 0.1];
const POLICIES = ["Strict", "Warn", "Ignore"];

async function tryObjects(
  peers: Peers,
  tally: Tally,
  plural: string,
  schema: Schema,
  random: Random,
): Promise<void> {
  const path = `/apis/${GROUP}/v1/${plural}`;
  const type = { apiVersion: `${GROUP}/v1`, kind: `Kind${plural}` };
  const draw = () => drawValue(schema, random, random.pick(FAULTS));
  const query = () => `fieldValidation=${random.pick(POLICIES)}`;
  for (let index = 0; index < 12; index += 1) {
    const object = { ...type, metadata: { name: `object-${index}` }, spec: draw() };
    const status = await ask(peers, tally, "POST", `${path}?${query()}`, object);
    if (status !== 201) continue;
    const one = `${path}/${object.metadata.name}`;
    for (let change = 0; change < 3; change += 1) {
      const next = { ...object, spec: draw() };
      await ask(peers, tally, "PUT", `${one}?${query()}`, next);
      const patch = { spec: draw() };
      await ask(peers, tally, "PATCH", `${one}?${query()}`, patch, "application/merge-patch+json");
    }
    const applied = { ...object, spec: draw() };
    const manager = `fieldManager=${random.pick(["one", "two"])}&force=${random.chance(0.7)}`;
    await ask(peers, tally, "PATCH", `${one}?${manager}`, applied, "application/apply-patch+yaml");
  }
  await ask(peers, tally, "GET", path);
}
