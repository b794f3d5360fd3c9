/** Rights: which records somebody may read: those of objects that they may get or list, as of the question. */
import type { Authorizer } from "../authz/authorizer.js";
import type { LazySignal } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";

/** What a record speaks of. */
export interface RecordedObject {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  /** "" = all of them. */
  readonly name: string;
}

export class Rights {
  readonly #authorizer: Authorizer;
  readonly #user: UserInfo;
  readonly #signal: LazySignal;
  /** Answers of this question. */
  readonly #known = new Map<string, boolean>();

  constructor(authorizer: Authorizer, user: UserInfo, signal: LazySignal) {
    this.#authorizer = authorizer;
    this.#user = user;
    this.#signal = signal;
  }

  async mayRead(object: RecordedObject): Promise<boolean> {
    if (await this.#may("list", { ...object, name: "" })) return true;
    return object.name !== "" && (await this.#may("get", object));
  }

  /** Whether the object itself may be shown. */
  async mayGet(object: RecordedObject): Promise<boolean> {
    return await this.#may("get", object);
  }

  async #may(verb: string, object: RecordedObject): Promise<boolean> {
    const { group, resource, namespace, name } = object;
    const key = [verb, group, resource, namespace, name].join("\n");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const info = {
      isResourceRequest: true,
      verb,
      path: "",
      version: "*",
      subresource: "",
      ...{ group, resource, namespace, name },
    };
    const { decision } = await this.#authorizer.authorize({ user: this.#user, info }, this.#signal);
    this.#known.set(key, decision === "allow");
    return decision === "allow";
  }
}
