/** Wiring of custom resources: definitions are followed from before the view is loaded. */
import { assert } from "../../storage/base/assert.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { Config } from "../config/config.js";
import { createCustomCodecs } from "../extensions/custom-codec.js";
import { CustomKinds } from "../extensions/custom-kinds.js";
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
  const custom = createCustomCodecs(facts);
  const kinds = new CustomKinds({ catalog, naming, codecs: custom, scaleCodec });
  kinds.follow(view);
  return kinds;
}
