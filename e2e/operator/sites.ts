/** Sites: the kind of an operator as people write it. A site has pages, each a ConfigMap that it owns, and an address outside. */
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import type { ApiObject } from "../harness/https-client.js";

export const FINALIZER = "example.test/address";
export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const SITES = "/apis/example.test/v1/namespaces/default/sites";
export const PAGES = "/api/v1/namespaces/default/configmaps";

export interface Site extends ApiObject {
  readonly spec: { readonly pages: number; readonly host?: string };
  readonly status?: { readonly ready?: number; readonly observedGeneration?: number };
}

export function site(name: string, pages: number, more: object = {}): object {
  return {
    ...{ apiVersion: "example.test/v1", kind: "Site" },
    metadata: { name },
    spec: { pages, ...more },
  };
}

const members = (properties: object) => ({ type: "object", properties });
const integer = { type: "integer" };

/** @param plural of the group example.test */
export function siteDefinition(kind: string, plural: string): object {
  const spec = {
    ...members({
      pages: { ...integer, minimum: 0, maximum: 9 },
      host: { type: "string", default: "example.test" },
    }),
    required: ["pages"],
    "x-kubernetes-validations": [
      { rule: "self.host != 'forbidden.test'", message: "that host is taken" },
    ],
  };
  const status = members({ ready: integer, observedGeneration: integer });
  const version = versionOf(members({ spec, status }), { subresources: { status: {} } });
  return definitionOf(`${plural}.example.test`, kind, {
    names: { plural, singular: plural.slice(0, -1), kind },
    versions: [version],
  });
}
