/** Applier: writes objects of manifests as the administrator, through the server's own door, or tries to. */
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { Answer, Asker } from "./admin-client.js";
import type { PlacedObject } from "./manifests.js";

/** Why one is not there yet. */
export interface Hindrance {
  readonly reason: string;
  /** Waiting does not help. */
  readonly isFinal: boolean;
}

const FIELD_MANAGER = "manifests";
/** Answers that the same request will always get. */
const FINAL = new Set([400, 405, 406, 413, 415, 422]);

export function isDefinition({ apiVersion, kind }: PlacedObject): boolean {
  return kind === "CustomResourceDefinition" && apiVersion.startsWith("apiextensions.");
}

export class Applier {
  readonly #client: Asker;
  readonly #ending: AbortSignal;
  /** By group and version: its kinds, with path and scope. */
  #kinds = new Map<string, Promise<Kinds | Hindrance>>();

  constructor(client: Asker, ending: AbortSignal) {
    this.#ending = ending;
    this.#client = client;
  }

  /** Definitions make new ones. */
  forgetKinds(): void {
    this.#kinds = new Map();
  }

  /** @returns undefined when it is there and in force */
  async apply(placed: PlacedObject): Promise<Hindrance | undefined> {
    try {
      const path = await this.#pathOf(placed);
      if (typeof path !== "string") return path;
      const query = `?fieldManager=${FIELD_MANAGER}&force=true`;
      const answer = await this.#client.ask("PATCH", path + query, {
        body: placed.object,
        contentType: "application/apply-patch+yaml",
        signal: this.#ending,
      });
      if (answer.status >= 300) return hindranceOf(answer);
      return isDefinition(placed) ? hindranceOfDefinition(answer.value) : undefined;
    } catch (error) {
      return { reason: oneLine(error), isFinal: false };
    }
  }

  /** Creates it, or applies it where it is there already, and stores nothing. @throws {TransportError} */
  async dryRun(placed: PlacedObject): Promise<Hindrance | Answer> {
    const path = await this.#pathOf(placed);
    if (typeof path !== "string") return path;
    const { object: body } = placed;
    const collection = path.slice(0, path.lastIndexOf("/"));
    const query = `?dryRun=All&fieldManager=${FIELD_MANAGER}`;
    const signal = this.#ending;
    const answer = await this.#client.ask("POST", `${collection}${query}&fieldValidation=Strict`, {
      body,
      signal,
    });
    if (answer.status !== 409) return answer;
    const contentType = "application/apply-patch+yaml";
    return await this.#client.ask("PATCH", `${path}${query}&force=true`, {
      body,
      contentType,
      signal,
    });
  }

  async #pathOf({ apiVersion, kind, namespace, name }: PlacedObject): Promise<string | Hindrance> {
    let known = this.#kinds.get(apiVersion);
    if (known === undefined) {
      known = this.#discover(apiVersion);
      this.#kinds.set(apiVersion, known);
    }
    const kinds = await known;
    if (!(kinds instanceof Map)) return kinds;
    const found = kinds.get(kind);
    if (found === undefined) {
      return { reason: `${apiVersion} has no kind ${JSON.stringify(kind)}`, isFinal: false };
    }
    const { resource, isNamespaced } = found;
    if (!isNamespaced && namespace !== "") {
      return { reason: `${kind} has no namespace`, isFinal: true };
    }
    const within = isNamespaced ? `/namespaces/${encodeURIComponent(namespace || "default")}` : "";
    return `${pathOfVersion(apiVersion)}${within}/${resource}/${encodeURIComponent(name)}`;
  }

  async #discover(apiVersion: string): Promise<Kinds | Hindrance> {
    const { status, value } = await this.#client.ask("GET", pathOfVersion(apiVersion), {
      signal: this.#ending,
    });
    if (status === 404) return { reason: `${apiVersion} is not served`, isFinal: false };
    if (status !== 200) return hindranceOf({ status, value });
    const { resources = [] } = value as unknown as DiscoveredVersion;
    return new Map(
      resources
        .filter(({ name }) => !name.includes("/"))
        .map(({ name, kind, namespaced }) => [kind, { resource: name, isNamespaced: namespaced }]),
    );
  }
}

type Kinds = Map<string, { readonly resource: string; readonly isNamespaced: boolean }>;

interface DiscoveredVersion {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
  }[];
}

interface Condition {
  readonly type?: JsonValue;
  readonly status?: JsonValue;
  readonly message?: JsonValue;
}

function pathOfVersion(apiVersion: string): string {
  const path = apiVersion.split("/").map(encodeURIComponent).join("/");
  return path.includes("/") ? `/apis/${path}` : `/api/${path}`;
}

function hindranceOf({ status, value }: Pick<Answer, "status" | "value">): Hindrance {
  return {
    reason: `${String(value.message ?? "refused")} (${status})`,
    isFinal: FINAL.has(status),
  };
}

function hindranceOfDefinition({ status }: JsonObject): Hindrance | undefined {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const isTrue = (type: string) => conditions.some((c) => c.type === type && c.status === "True");
  if (isTrue("Established")) return undefined;
  const names = conditions.find((c) => c.type === "NamesAccepted" && c.status === "False");
  const why = names === undefined ? "" : `: ${String(names.message)}`;
  return { reason: `not established${why}`, isFinal: false };
}
