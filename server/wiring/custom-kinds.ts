/** Wiring of custom resources: definitions are followed before the view is loaded. */
import { assert } from "../../storage/base/assert.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { Config } from "../config/config.js";
import { ConversionClients } from "../definitions/conversion-clients.js";
import { createCustomCodecs } from "../definitions/custom-codec.js";
import { CustomKinds } from "../definitions/custom-kinds.js";
import { WebhookConverter } from "../definitions/webhook-converter.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { LiveCatalog } from "../kinds/live-catalog.js";
import { resolveService } from "../outbound/services.js";
import type { Facts } from "../schema/model.js";
import type { OutgoingPlaces } from "./outgoing-places.js";

export interface CustomKindsWiring {
  readonly config: Pick<Config, "naming" | "enableAggregatorRouting">;
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  readonly catalog: LiveCatalog;
  readonly outgoing: OutgoingPlaces;
}

/** Must be called before the view is started. */
export function followDefinitions(
  { config, facts, codecs, catalog, outgoing }: CustomKindsWiring,
  view: RegistryView,
): CustomKinds {
  const scaleCodec = codecs.forKind("autoscaling", "v1", "Scale");
  assert(scaleCodec !== undefined, "EveryResourceHasACodec");
  const { naming, enableAggregatorRouting: usesEndpoints } = config;
  const clients = new ConversionClients({
    resolve: (service) => resolveService({ view, naming, usesEndpoints }, service),
  });
  outgoing.add("conversion", clients);
  const kinds = new CustomKinds({
    catalog,
    naming,
    codecs: createCustomCodecs(facts),
    scaleCodec,
    createConverter: ({ spec, status }) => {
      const { clientConfig, conversionReviewVersions } = spec?.conversion?.webhook ?? {};
      const isV1 = conversionReviewVersions?.find(isReviewVersion) !== "v1beta1";
      return new WebhookConverter({
        reviewGroup: `apiextensions.${naming.groupDomain}`,
        reviewVersion: isV1 ? "v1" : "v1beta1",
        kind: status?.acceptedNames?.kind ?? "",
        ask: clients.asks(clientConfig ?? {}),
      });
    },
  });
  kinds.follow(view);
  return kinds;
}

function isReviewVersion(version: string): boolean {
  return version === "v1" || version === "v1beta1";
}
