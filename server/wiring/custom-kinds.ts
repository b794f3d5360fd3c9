/** Wiring of custom resources: definitions are followed before the view is loaded. */
import { assert } from "../../storage/base/assert.js";
import type { SharedBytes } from "../../storage/base/shared-bytes.js";
import { SharedCache } from "../../storage/base/shared-cache.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { Config } from "../config/config.js";
import { ConversionClients } from "../definitions/conversion-clients.js";
import type { CustomCodecs } from "../definitions/custom-codec.js";
import { CustomKinds } from "../definitions/custom-kinds.js";
import { WebhookConverter } from "../definitions/webhook-converter.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { LiveCatalog } from "../kinds/live-catalog.js";
import { resolveService } from "../outbound/services.js";
import type { OutgoingPlaces } from "./outgoing-places.js";

export interface CustomKindsWiring {
  readonly config: Pick<Config, "naming" | "enableAggregatorRouting">;
  readonly codecs: KindCodecs;
  readonly customCodecs: CustomCodecs;
  readonly catalog: LiveCatalog;
  readonly outgoing: OutgoingPlaces;
  /** Default: it has them for itself. */
  readonly caches?: SharedBytes;
}

/** Of all definitions together. */
const CONVERTED_BYTES_MAX = 32 * 1024 * 1024;

/** Must be called before the view is started. */
export function followDefinitions(
  { config, codecs, customCodecs, catalog, outgoing, caches }: CustomKindsWiring,
  view: RegistryView,
): CustomKinds {
  const scaleCodec = codecs.forKind("autoscaling", "v1", "Scale");
  assert(scaleCodec !== undefined, "EveryResourceHasACodec");
  const { naming, enableAggregatorRouting: usesEndpoints } = config;
  const clients = new ConversionClients({
    resolve: (service) => resolveService({ view, naming, usesEndpoints }, service),
  });
  outgoing.add("conversion", clients);
  const converted = new SharedCache<string, string>({
    bytesMax: CONVERTED_BYTES_MAX,
    memory: caches,
  });
  let converters = 0;
  const kinds = new CustomKinds({
    catalog,
    naming,
    codecs: customCodecs,
    scaleCodec,
    createConverter: ({ spec, status }) => {
      const { clientConfig, conversionReviewVersions } = spec?.conversion?.webhook ?? {};
      const isV1 = conversionReviewVersions?.find(isReviewVersion) !== "v1beta1";
      return new WebhookConverter({
        reviewGroup: `apiextensions.${naming.groupDomain}`,
        reviewVersion: isV1 ? "v1" : "v1beta1",
        kind: status?.acceptedNames?.kind ?? "",
        ask: clients.asks(clientConfig ?? {}),
        known: converted,
        place: `${++converters}`,
      });
    },
  });
  kinds.follow(view);
  return kinds;
}

function isReviewVersion(version: string): boolean {
  return version === "v1" || version === "v1beta1";
}
