/**
 * Chains of controllers with noise beside them: each controller follows one stage of objects and writes the next,
 * in different ways. They note what made them write and what they wrote upon, and the recorder is asked for the
 * same: the cause is found or among the candidates, and nothing that is called exact is wrong.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Links, linksOf } from "../../server/recorder/links.js";
import { RecordIndex } from "../../server/recorder/record-index.js";
import type { RecordedWrite, Timeline } from "../../server/recorder/record-types.js";
import type { Keelson } from "../../server/start-keelson.js";
import { SEED } from "../../storage/base/testing/random.js";
import { DEADLINE_MS, eventually } from "../harness/eventually.js";
import { type ApiObject, HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { shareApi } from "./running-api.js";

/** Chains at once; each has three to six controllers. */
const CHAINS = isLong ? 8 : 3;
const SEEDS_EACH = isLong ? 30 : 8;
const CONTROLLERS_MAX = 6;
const NAMESPACE = "/api/v1/namespaces/default/configmaps";

const users = Array.from({ length: CHAINS * CONTROLLERS_MAX }, (_, at) => ({
  name: `controller-${Math.floor(at / CONTROLLERS_MAX)}-${at % CONTROLLERS_MAX}`,
  groups: ["system:masters"],
}));
const theApi = shareApi({
  record: true,
  users: [...users, { name: "noise", groups: ["system:masters"] }],
});

/** Numbers of a seed (a linear congruential generator). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(count: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }
}

/** What a controller knows of its own write. */
interface Truth {
  readonly revision: string;
  readonly cause: string;
  /** "" = it named none. */
  readonly base: string;
}

test(`causes of writes in chains of controllers are found (seed ${SEED})`, async () => {
  const { api, admin } = theApi();
  const random = new Random(SEED);
  const truths: Truth[] = [];
  const ending = new AbortController();
  const running: Promise<void>[] = [];
  const expected: number[] = [];
  for (let chain = 0; chain < CHAINS; chain++) {
    const length = 3 + random.below(CONTROLLERS_MAX - 2);
    expected.push(length);
    for (let stage = 0; stage < length; stage++) {
      const controller = new Controller({ api, chain, stage, random, truths });
      await controller.open(ending.signal);
      running.push(controller.run(ending.signal));
    }
  }
  const noise = makeNoise(as(api, "noise"), random, ending.signal);
  const people = as(api, "noise");
  for (let seed = 0; seed < SEEDS_EACH; seed++) {
    for (let chain = 0; chain < CHAINS; chain++) {
      await people.post(NAMESPACE, objectOf(`chain${chain}-${seed}`, chain, 0));
    }
  }
  const all = expected.reduce((sum, length) => sum + length * SEEDS_EACH, 0);
  await eventually("the chains end", () => truths.length >= all, isLong ? 600_000 : DEADLINE_MS);
  const records = await recordsOf(admin);
  ending.abort();
  await Promise.all([...running, noise]);
  people.close();

  const { items } = (await json(admin, NAMESPACE)) as unknown as { items: ApiObject[] };
  const texts = new Map(items.map((item) => [item.metadata.name, JSON.stringify(item)]));
  const names = (object: RecordedWrite, name: string) =>
    texts.get(object.name)?.includes(`"${name}"`) === true;
  const index = new RecordIndex(records);
  const writes = new Map(records.writes.map((write) => [write.revision, write]));
  let first = 0;
  for (const truth of truths) {
    const write = writes.get(truth.revision);
    assert.ok(write !== undefined, `the write of revision ${truth.revision} is recorded`);
    const links = linksOf(index, write, names);
    checkExact(truth, write, links);
    const found = [...links.exact, ...links.candidates].map(({ revision }) => revision);
    assert.ok(found.includes(truth.cause), `${JSON.stringify(truth)} of ${JSON.stringify(write)}`);
    if (links.likely?.revision === truth.cause) first++;
  }
  assert.ok(first > truths.length * 0.75, `${first} of ${truths.length} causes are the likeliest`);
});

function checkExact({ base }: Truth, write: RecordedWrite, { exact }: Links): void {
  const claimed = exact.map(({ revision }) => revision);
  assert.deepEqual(claimed, base === "" ? [] : [base], `exact of ${JSON.stringify(write)}`);
}

interface ControllerParts {
  readonly api: Keelson;
  readonly chain: number;
  readonly stage: number;
  readonly random: Random;
  readonly truths: Truth[];
}

/** Follows the objects of one stage and makes or changes one of the next for each. */
class Controller {
  readonly #parts: ControllerParts;
  readonly #client: HttpsClient;
  readonly #done = new Set<string>();
  #events: AsyncIterable<{ readonly object: ApiObject }> = nothing();

  constructor(parts: ControllerParts) {
    this.#parts = parts;
    this.#client = as(parts.api, `controller-${parts.chain}-${parts.stage}`);
  }

  /** Its watch has begun when this returns. */
  async open(signal: AbortSignal): Promise<void> {
    const { chain, stage } = this.#parts;
    const selector = encodeURIComponent(`chain=chain${chain},stage=stage${stage}`);
    this.#events = await this.#client.watch(
      `${NAMESPACE}?watch=1&labelSelector=${selector}`,
      signal,
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      for await (const { object } of this.#events) {
        const { name = "" } = object.metadata;
        // Noise changes the objects as well: only the first state of each is acted upon.
        if (this.#done.has(name)) continue;
        this.#done.add(name);
        await this.#act(object);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#client.close();
    }
  }

  async #act(seen: ApiObject): Promise<void> {
    const { random, chain, stage } = this.#parts;
    const cause = seen.metadata.resourceVersion ?? "";
    const next = stage + 1;
    switch (random.below(4)) {
      case 0: {
        const own = {
          apiVersion: "v1",
          kind: "ConfigMap",
          name: seen.metadata.name,
          uid: seen.metadata.uid,
        };
        const object = objectOf(`owned-${chain}-${next}-${cause}`, chain, next);
        const metadata = { ...object.metadata, ownerReferences: [own] };
        return await this.#write("POST", NAMESPACE, { ...object, metadata }, cause);
      }
      case 1:
        return await this.#write(
          "POST",
          NAMESPACE,
          objectOf(`${seen.metadata.name}-x`, chain, next),
          cause,
        );
      case 2: {
        const object = objectOf(`ref-${chain}-${next}-${cause}`, chain, next);
        const data = { from: seen.metadata.name };
        return await this.#write("POST", NAMESPACE, { ...object, data }, cause);
      }
      default:
        return await this.#change(seen, cause);
    }
  }

  /** Makes the next object by a status-like change of one, half of them upon what it was. */
  async #change(seen: ApiObject, cause: string): Promise<void> {
    const { random, chain, stage } = this.#parts;
    const { name } = seen.metadata;
    const labels = { stage: `stage${stage + 1}`, chain: `chain${chain}` };
    const isPatch = random.below(2) === 0;
    if (isPatch) {
      const patch = { metadata: { labels }, data: { [`seen${stage}`]: "yes" } };
      return await this.#write("PATCH", `${NAMESPACE}/${name}`, patch, cause);
    }
    const metadata = { ...seen.metadata, labels };
    const body = { ...seen, metadata, data: { [`put${stage}`]: "yes" } };
    const { status } = await this.#send("PUT", `${NAMESPACE}/${name}`, body, cause, cause);
    // Noise was faster: then it is made upon nothing in particular.
    if (status === 409)
      await this.#write("PATCH", `${NAMESPACE}/${name}`, { metadata: { labels } }, cause);
  }

  async #write(method: string, path: string, body: unknown, cause: string): Promise<void> {
    const answer = await this.#send(method, path, body, cause, "");
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.bytes}`);
  }

  async #send(method: string, path: string, body: unknown, cause: string, base: string) {
    const headers =
      method === "PATCH" ? { "content-type": "application/merge-patch+json" } : undefined;
    const answer = await this.#client.request(path, { method, body, ...(headers && { headers }) });
    if (answer.status < 300) {
      const { metadata } = JSON.parse(String(answer.bytes)) as ApiObject;
      this.#parts.truths.push({ revision: metadata.resourceVersion ?? "", cause, base });
    }
    return answer;
  }
}

async function* nothing(): AsyncGenerator<{ readonly object: ApiObject }, void> {}

/** Somebody who writes beside the chains, into their objects too. */
async function makeNoise(client: HttpsClient, random: Random, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted && count < 200_000; count++) {
    const name = `noise-${random.below(20)}`;
    const body = { metadata: { name, labels: { noise: "yes" } }, data: { count: String(count) } };
    const { status } = await client.put(`${NAMESPACE}/${name}`, body);
    if (status === 404) await client.post(NAMESPACE, body);
    const chain = `chain${random.below(CHAINS)}-${random.below(SEEDS_EACH)}`;
    await client.patch(`${NAMESPACE}/${chain}`, {
      metadata: { annotations: { noise: String(count) } },
    });
  }
  client.close();
}

function objectOf(name: string, chain: number, stage: number) {
  const labels = { chain: `chain${chain}`, stage: `stage${stage}` };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } };
}

function as(api: Keelson, name: string): HttpsClient {
  const { url, ca, token } = api.as(name);
  return new HttpsClient(url, { ca }, { authorization: `Bearer ${token}`, "user-agent": name });
}

async function recordsOf(admin: HttpsClient): Promise<Timeline> {
  return (await json(admin, "/debug/record/timeline?limit=10000")) as unknown as Timeline;
}

async function json(client: HttpsClient, path: string): Promise<Record<string, unknown>> {
  const { status, bytes } = await client.get(path);
  assert.equal(status, 200, String(bytes));
  return JSON.parse(String(bytes)) as Record<string, unknown>;
}
