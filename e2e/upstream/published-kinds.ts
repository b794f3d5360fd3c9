/**
 * Definitions of a dozen projects, as they are published or to their size and shape, and objects of each kind:
 * created, replaced, patched, applied and shown, with every optional field of their spec null once.
 */
import type { Definition } from "../definitions/definition.js";
import { collectionOf, storageVersion } from "../definitions/definition.js";
import { fetchPublished } from "../definitions/published-definitions.js";
import { SHAPED_DEFINITIONS, type ShapedDefinition } from "../definitions/shaped-definitions.js";
import { smallestObject } from "../definitions/smallest-object.js";
import type { Tally } from "./campaigns.js";
import { compare } from "./compare.js";
import type { Peers } from "./peers.js";
import { waitUntilServed } from "./scenarios.js";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const MERGE = "application/merge-patch+json";
const APPLY = "application/apply-patch+yaml";

type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<number>;

export async function playPublishedKinds(peers: Peers): Promise<Tally> {
  const tally: Tally = { asked: 0, accepted: 0, differences: [] };
  const ask: Ask = async (method, path, body, headers = {}) => {
    const sent = { "content-type": "application/json", ...headers };
    const options = body === undefined ? { method, headers } : { method, headers: sent, body };
    const { status, difference } = await compare(peers, path, options);
    tally.asked += 1;
    if (status < 300) tally.accepted += 1;
    if (difference !== undefined) tally.differences.push({ ...difference, sent: body });
    return status;
  };
  const published = ((await fetchPublished()) ?? []).map((definition) => ({ definition }));
  const all: readonly ShapedDefinition[] = [...SHAPED_DEFINITIONS, ...published];
  for (const { definition, refused = [] } of all) {
    if ((await ask("POST", DEFINITIONS, definition)) !== 201) continue;
    await waitUntilServed(peers, collectionOf(definition));
    await playKind(ask, definition);
    for (const [change] of refused) {
      const path = `${collectionOf(definition)}/first`;
      await ask("PATCH", path, change, { "content-type": MERGE });
    }
    await ask("DELETE", `${DEFINITIONS}/${definition.metadata.name}`);
  }
  return tally;
}

async function playKind(ask: Ask, definition: Definition): Promise<void> {
  const path = collectionOf(definition);
  const object = smallestObject(definition, "first");
  const { subresources = {} } = storageVersion(definition);
  await ask("POST", `${path}?fieldValidation=Strict`, object);
  await ask("PUT", `${path}/first`, smallestObject(definition, "first", { color: "red" }));
  await ask(
    "PATCH",
    `${path}/first`,
    { metadata: { labels: { color: "blue" } } },
    {
      "content-type": MERGE,
    },
  );
  for (const [at, nulls] of nullsOf(definition).entries()) {
    const one = { ...object, ...nulls, metadata: { name: `null-${at}` } };
    await ask("POST", path, one);
    await ask("PUT", `${path}/first`, { ...one, metadata: { name: "first" } });
    await ask("PATCH", `${path}/first`, nulls, { "content-type": MERGE });
    const applied = { ...one, metadata: { name: "applied" } };
    const query = "fieldManager=tests&force=true";
    await ask("PATCH", `${path}/applied?${query}`, applied, { "content-type": APPLY });
  }
  if (subresources.scale !== undefined) {
    await ask("GET", `${path}/first/scale`);
    await ask("PATCH", `${path}/first/scale`, {}, { "content-type": MERGE });
    await ask("PATCH", `${path}/first/scale`, { spec: { replicas: 3 } }, { "content-type": MERGE });
    await ask("GET", `${path}/first/scale`);
  }
  await ask("GET", path);
  await ask("GET", `${path}?labelSelector=color`);
  await ask("GET", path, undefined, { accept: TABLE });
}

/** The spec of the smallest object with a null more, for every optional field. */
function nullsOf(definition: Definition): readonly object[] {
  const { properties = {} } = storageVersion(definition).schema.openAPIV3Schema;
  const { spec } = smallestObject(definition, "first") as { readonly spec?: object };
  const { required = [], properties: fields = {} } = properties.spec ?? {};
  return Object.keys(fields)
    .filter((name) => !required.includes(name))
    .map((name) => ({ spec: { ...spec, [name]: null } }));
}
