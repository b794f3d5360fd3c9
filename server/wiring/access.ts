/**
 * Wiring of access: the catalog, the view, authentication and authorization. They are one step, as
 * they depend on each other: the view needs the catalog's resources, credentials and policy are
 * read from the view, and the catalog's reviews call both.
 */

import { assert } from "../../storage/base/assert.js";
import { openAll } from "../../storage/base/cleanup.js";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { SharedBytes } from "../../storage/base/shared-bytes.js";
import type { Config } from "../config/config.js";
import type { CustomCodecs } from "../definitions/custom-codec.js";
import type { CustomKinds } from "../definitions/custom-kinds.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import { LiveCatalog } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import type { SharedResources } from "../registry/built-in-catalog.js";
import type { Facts } from "../schema/model.js";
import {
  type Authentication,
  type AuthenticationParts,
  createAuthentication,
} from "./authentication.js";
import { type Authorization, createAuthorization } from "./authorization.js";
import { followDefinitions } from "./custom-kinds.js";
import { OutgoingPlaces } from "./outgoing-places.js";
import { CACHES_BYTES_MAX, type ProcessMemory } from "./process-memory.js";
import type { Security } from "./security.js";
import { createServedCatalog, isGateEnabled, type Reviewers } from "./served-catalog.js";
import { createViews, type Views } from "./storage.js";
import type { OpenedStore } from "./store.js";

export interface Access extends AsyncDisposable {
  /** The catalog now served. */
  readonly catalog: LiveCatalog;
  /** Nothing may be read before `view.start`. */
  readonly views: Views;
  readonly authentication: Authentication;
  readonly authorization: Authorization;
  readonly outgoing: OutgoingPlaces;
  /** Of what can be made again. */
  readonly caches: SharedBytes;
}

/** The codecs of the built-in kinds, as the feature gates have their rules. */
export function createCodecs({ features }: Config, facts: Facts): KindCodecs {
  return createFactsCodecs(facts, { isRuleGateEnabled: (gate) => isGateEnabled(features, gate) });
}

export interface AccessParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly facts: Facts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly security: Security;
  readonly storage: OpenedStore;
  /** Of all control planes of the process. */
  readonly memory: ProcessMemory;
  /** "host:port" for clients of this replica. */
  readonly serverAddress: () => string;
  /** Of the built-in kinds; the same for all control planes. */
  readonly codecs: KindCodecs;
  /** Of custom kinds; what is alike is compiled once. */
  readonly customCodecs: CustomCodecs;
  /** What control planes of the same configuration share; absent = it is the only one. */
  readonly builtIn?: SharedResources;
  /** Makes its authentication of the root's; absent = it is the root. */
  readonly inherit?: (parts: InheritedParts) => Authentication;
}

export type InheritedParts = Pick<
  AuthenticationParts,
  "config" | "clock" | "view" | "tokenKeys" | "metrics" | "logger" | "caches" | "serverAddress"
> &
  Pick<Authorization, "bindings">;

/** @throws {Error} with one line: an unusable mode, configuration or file */
export function openAccess(parts: AccessParts): Promise<Access> {
  return openAll(async (opened) => {
    const { config, clock, facts, metrics, logger, security, serverAddress, codecs } = parts;
    const { store, tokenKeys, feedLag, small, readDeadline } = parts.storage;
    let reviewers: Reviewers | undefined;
    let customKinds: CustomKinds | undefined;
    const builtIn = createServedCatalog({
      config,
      clock,
      facts,
      tokenKeys,
      codecs,
      shared: parts.builtIn,
      definitions: { holders: () => customKinds?.holders() ?? [] },
      reviewers() {
        assert(reviewers !== undefined, "AccessIsWired");
        return reviewers;
      },
    });
    const catalog = new LiveCatalog(builtIn);
    const isRoot = parts.inherit === undefined;
    const caches = new SharedBytes(
      CACHES_BYTES_MAX,
      isRoot ? undefined : parts.memory.cachesOfControlPlanes,
    );
    opened.defer(async () => caches.close());
    const views = createViews(config, store, catalog, logger, {
      ...{ metrics, feedLag, small, readDeadline },
      history: parts.memory.history,
    });
    opened.defer(async () => views.view.retention.close());
    // The store works while the rest of this process is wired.
    views.view.readAhead();
    const outgoing = new OutgoingPlaces(metrics);
    const { customCodecs } = parts;
    const kinds = { config, codecs, customCodecs, catalog, outgoing, caches };
    customKinds = followDefinitions(kinds, views.view);
    const common = { config, view: views.view, metrics, logger, caches };
    const installation = tokenKeys.keys.signing.id;
    const authorization = opened.use(
      await createAuthorization({
        ...common,
        installation,
        // Below the root there are no webhooks that authorize.
        ...(!isRoot && { hostRoots: [] }),
      }),
    );
    const isOpenToAll = authorization.authorizer.enabledTypes.has("AlwaysAllow");
    const asked = { ...common, clock, tokenKeys, serverAddress };
    const { bindings } = authorization;
    const authentication = opened.use(
      parts.inherit?.({ ...asked, bindings }) ??
        (await createAuthentication({ ...asked, isOpenToAll, security })),
    );
    reviewers = { authentication, authorization };
    return {
      catalog,
      caches,
      views,
      authentication,
      authorization,
      outgoing,
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}
