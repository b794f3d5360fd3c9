/**
 * BootstrapSecrets: tracks the Secrets of the system namespace that hold bootstrap tokens. There may
 * be many other and large ones, so each is parsed when it changes and not on every sync.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { bootstrapSecretType } from "../authn/bootstrap-secret.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";

export class BootstrapSecrets {
  readonly resource: ControlledResource;
  readonly #objects: ObjectsApi;
  readonly #namespace: string;
  readonly #type: string;
  /** Names of Secrets that held a token when last parsed, or have changed since. */
  readonly #names = new Set<string>();

  constructor(objects: ObjectsApi, naming: Naming) {
    this.#objects = objects;
    this.resource = objects.resource("", "secrets");
    this.#namespace = naming.systemNamespace;
    this.#type = bootstrapSecretType(naming);
  }

  /** Call for every existing or changed Secret. @returns whether it may hold a token */
  note({ namespace, name }: ObjectKey): boolean {
    if (namespace !== this.#namespace) return false;
    this.#names.add(name);
    return true;
  }

  /** The current token Secrets, by name. */
  list(): ApiObject[] {
    const found: ApiObject[] = [];
    for (const name of [...this.#names].sort()) {
      const secret = this.#find(name);
      if (secret === undefined) this.#names.delete(name);
      else found.push(secret);
    }
    return found;
  }

  #find(name: string): ApiObject | undefined {
    const secret = this.#objects.get(this.resource, { namespace: this.#namespace, name });
    return secret?.type === this.#type ? secret : undefined;
  }
}
