/**
 * Resources exempt from policies: reviews of users' permissions, which store nothing and must stay possible,
 * and those that the operator excludes besides.
 */
import type { Naming } from "../../api/naming.js";

/** All versions of a resource, with its subresources. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** By the name of the group before the vendor's domain. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  authentication: ["selfsubjectreviews", "tokenreviews"],
  authorization: [
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
  ],
};

export class Exclusions {
  readonly #resources = new Map<string, Set<string>>();

  constructor({ groupDomain }: Naming, further: readonly GroupResource[] = []) {
    for (const [name, resources] of Object.entries(BUILT_IN)) {
      this.#resources.set(`${name}.${groupDomain}`, new Set(resources));
    }
    for (const { group, resource } of further) {
      const known = this.#resources.get(group) ?? new Set();
      this.#resources.set(group, known.add(resource));
    }
  }

  has({ group, resource }: GroupResource): boolean {
    return this.#resources.get(group)?.has(resource) === true;
  }
}
