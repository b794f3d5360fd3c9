/** Wiring of custom resources: definitions are followed from before the view is loaded. */
import { assert } from "../../storage/base/assert.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import { TransportError } from "../client/https-client.js";
import type { Config } from "../config/config.js";
import { ConversionClients, type ServicePlace } from "../extensions/conversion-clients.js";
import { createCustomCodecs } from "../extensions/custom-codec.js";
import { CustomKinds } from "../extensions/custom-kinds.js";
import { WebhookConverter } from "../extensions/webhook-converter.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { LiveCatalog } from "../kinds/live-catalog.js";
import type { Facts } from "../schema/model.js";

export interface CustomKindsWiring {
  readonly config: Pick<Config, "naming">;
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  readonly catalog: LiveCatalog;
}

/** To be called before the view is started. */
export function followDefinitions(
  { config, facts, codecs, catalog }: CustomKindsWiring,
  view: RegistryView,
): CustomKinds {
  const scaleCodec = codecs.forKind("autoscaling", "v1", "Scale");
  assert(scaleCodec !== undefined, "EveryResourceHasACodec");
  const { naming } = config;
  const clients = new ConversionClients({ resolve: (service) => resolveService(view, service) });
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

/** The cluster IP of a Service, as the view has it. @throws {TransportError} */
function resolveService(view: RegistryView, { namespace, name, port }: ServicePlace) {
  const stored = view.partition(partitionId("", "services")).get(objectPath(namespace, name));
  const nowhere = (why: string) => new TransportError("connection", why);
  if (stored === undefined) throw nowhere(`service ${JSON.stringify(name)} not found`);
  const { spec } = JSON.parse(stored.bytes.toString("utf8")) as {
    spec?: { clusterIP?: string; externalName?: string };
  };
  const host = spec?.externalName ?? spec?.clusterIP ?? "";
  if (host === "" || host === "None") {
    throw nowhere(`service ${JSON.stringify(name)} has no address of its own`);
  }
  return { host, port };
}
