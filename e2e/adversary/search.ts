/**
 * The search for the worst turn: bodies of all kinds that the server publishes, of which those that hold the thread
 * longest are kept, changed a little and tried again. All that is random comes of one seed.
 */
import type { HttpsClient } from "../harness/https-client.js";
import { NAMESPACE } from "./attack.js";
import {
  changedRecipe,
  cook,
  type Kind,
  newRecipe,
  type Random,
  type Recipe,
  randomOf,
  type Schema,
} from "./generator.js";

/** Recipes that are kept and changed. */
const KEPT_MAX = 6;

export interface Found {
  readonly recipe: Recipe;
  readonly workMs: number;
}

export interface SearchParts {
  readonly kinds: readonly Kind[];
  readonly seed: number;
  /** @returns for how long the thread worked at most while the body was posted */
  readonly measure: (path: string, body: string, name: string) => Promise<number>;
  readonly isOver: () => boolean;
}

/** @returns the worst bodies, the worst first */
export async function searchWorst(parts: SearchParts): Promise<readonly Found[]> {
  const random = randomOf(parts.seed);
  const kept: Found[] = [];
  while (!parts.isOver()) {
    const recipe = nextRecipe(parts.kinds, kept, random);
    if (recipe === undefined) continue;
    const body = cook(parts.kinds, recipe);
    const workMs = await parts.measure(recipe.path, body, JSON.stringify(recipe));
    kept.push({ recipe, workMs });
    kept.sort((a, b) => b.workMs - a.workMs);
    kept.length = Math.min(kept.length, KEPT_MAX);
  }
  return kept;
}

function nextRecipe(
  kinds: readonly Kind[],
  kept: readonly Found[],
  random: Random,
): Recipe | undefined {
  const parent = random() < 0.5 ? kept[Math.floor(random() * kept.length)] : undefined;
  return parent === undefined ? newRecipe(kinds, random) : changedRecipe(parent.recipe, random);
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly post?: Post }>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Post {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly "x-kubernetes-group-version-kind"?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  };
}

const COLLECTION = /\/namespaces\/\{namespace\}\/[^/{]+$/;

/** All namespaced kinds that the server's documents say can be created. */
export async function kindsOf(client: HttpsClient): Promise<readonly Kind[]> {
  const { paths } = (await client.get("/openapi/v3")).expect(200).object as unknown as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  };
  const kinds: Kind[] = [];
  for (const { serverRelativeURL } of Object.values(paths)) {
    const answer = (await client.get(serverRelativeURL)).expect(200);
    kinds.push(...kindsIn(answer.object as unknown as Document));
  }
  return kinds;
}

export function kindsIn(document: Document): readonly Kind[] {
  const schemas = document.components?.schemas ?? {};
  return Object.entries(document.paths).flatMap(([path, { post }]) => {
    const gvk = post?.["x-kubernetes-group-version-kind"];
    const [content] = Object.values(post?.requestBody?.content ?? {});
    if (gvk === undefined || content === undefined || !COLLECTION.test(path)) return [];
    const apiVersion = gvk.group === "" ? gvk.version : `${gvk.group}/${gvk.version}`;
    const own = path.replace("{namespace}", NAMESPACE);
    return [{ path: own, apiVersion, kind: gvk.kind, schema: content.schema, schemas }];
  });
}
