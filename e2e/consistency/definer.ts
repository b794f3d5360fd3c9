/**
 * The custom kind of the workload, and who changes its definition while everybody works with it.
 *
 * Definition n has two members with defaults that tell of it: `step`, whose default is n, and `at<n>`,
 * which no other definition has. Writes send neither, so `step` is stored as the definition in force
 * has it and says who judged the write; and whoever is shown an object sees the one `at<n>` of the
 * definition by which it is shown, as all others are dropped and it is filled in.
 */
import type { ApiObject, HttpsClient } from "../harness/https-client.js";
import type { FireKind } from "./api.js";
import { sleep } from "./client.js";
import type { Replica } from "./cluster.js";
import type { Definition } from "./history.js";
import type { Random } from "./random.js";
import type { Recorder } from "./recorder.js";

const GROUP = "fire.example.com";
const NAME = `flames.${GROUP}`;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Between two definitions. */
const REST_MS = [50, 600] as const;
const PATIENCE_MS = 2_500;
const BACKOFF_MS = 50;
/** After the work, so long a definition may take whose write had no answer. */
const SETTLE_DEADLINE_MS = 60_000;

export const FLAMES: FireKind = {
  apiVersion: `${GROUP}/v1`,
  kind: "Flame",
  root: `/apis/${GROUP}/v1`,
  plural: "flames",
  part: "spec",
  patchedBesides: { step: null },
  isReplacedBlindly: false,
  judgedBy: (part) => ({
    written: Number(part.step),
    shown: Object.keys(part)
      .filter((name) => name.startsWith("at"))
      .map((name) => Number(name.slice(2))),
  }),
};

function definition(number: number): object {
  const text = { type: "string" };
  const properties = {
    w: text,
    v: text,
    p: text,
    step: { ...text, default: String(number) },
    [`at${number}`]: { ...text, default: "shown" },
  };
  const spec = { type: "object", properties };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  return {
    group: GROUP,
    scope: "Namespaced",
    names: { plural: FLAMES.plural, kind: FLAMES.kind },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
}

/** Which definition an object of the API is. */
function numberOf({ metadata, spec }: ApiObject): Definition {
  const { versions } = spec as { versions: { schema: { openAPIV3Schema: unknown } }[] };
  const step = /"step":\{[^}]*"default":"(\d+)"/.exec(JSON.stringify(versions[0]));
  return { revision: Number(metadata.resourceVersion), number: Number(step?.[1]) };
}

export class Definer {
  readonly #replicas: readonly Replica[];
  readonly #definitions: Definition[] = [];

  constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas;
  }

  /** All that were stored so far, by revision. */
  get definitions(): readonly Definition[] {
    return this.#definitions;
  }

  /** The first one. */
  async create(): Promise<void> {
    const body = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: NAME },
      spec: definition(1),
    };
    const answer = await this.#replicas[0]?.client.post(DEFINITIONS, body);
    if (answer !== undefined) this.#definitions.push(numberOf(answer.expect(201).object));
  }

  /** One after the other until `signal` aborts. @throws {Error} it cannot be known what became of the last */
  async run(recorder: Recorder, random: Random, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = await this.#change(random, signal);
      this.#definitions.push(next);
      recorder.definition(next);
      await sleep(random.between(...REST_MS));
    }
  }

  /**
   * Nobody else changes the definition, and each change names the version that it replaces: so one
   * whose answer is lost is either the one that is read later, or cannot be any more.
   */
  async #change(random: Random, signal: AbortSignal): Promise<Definition> {
    const number = (this.#definitions.at(-1)?.number ?? 0) + 1;
    let deadline: number | undefined;
    for (;;) {
      if (signal.aborted) deadline ??= performance.now() + SETTLE_DEADLINE_MS;
      if (deadline !== undefined && performance.now() > deadline) {
        throw new Error(`definition ${number} was never stored`);
      }
      const { client } = random.pick(this.#replicas);
      const known = await this.#tryOnce(client, number).catch(() => undefined);
      if (known !== undefined) return known;
      await sleep(BACKOFF_MS);
    }
  }

  async #tryOnce(client: HttpsClient, number: number): Promise<Definition | undefined> {
    const url = `${DEFINITIONS}/${NAME}`;
    const patience = () => AbortSignal.timeout(PATIENCE_MS);
    const read = await client.request(url, { signal: patience() });
    if (read.status !== 200) return undefined;
    const current = numberOf(read.object);
    if (current.number === number) return current;
    const body = { ...read.object, spec: definition(number) };
    const answer = await client.request(url, { method: "PUT", body, signal: patience() });
    return answer.status === 200 ? numberOf(answer.object) : undefined;
  }
}
