/** Wiring of the registry: the table of what is served, and all that a write goes through. */
import { systemClock } from "../../storage/base/clock.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import { partitionId } from "../../storage/objects/keys.js";
import { formatGroupVersion } from "../api/names.js";
import type { Authenticator } from "../authn/authenticator.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { RulesSource } from "../authz/subject-rules.js";
import type { Config } from "../config/config.js";
import { enabledResources } from "../config/runtime-config.js";
import type { Metrics } from "../http/metrics.js";
import { createAuthenticationReviews } from "../registry/authentication/reviews.js";
import { createAuthorizationReviews } from "../registry/authorization/reviews.js";
import { createServiceAllocator } from "../registry/core/service-allocator.js";
import {
  createDeclarativeValidation,
  type DeclarativeValidation,
} from "../registry/generic/declarative-validation.js";
import { createOwnership } from "../registry/generic/ownership.js";
import type { Registry } from "../registry/generic/registry.js";
import { WriteTurns } from "../registry/generic/write-turns.js";
import { createResourceTable, type ResourceTable } from "../registry/resource-table.js";
import { serviceAccountToken } from "../registry/subresources/service-account-token.js";
import type { Facts, SchemaModel } from "../schema/model.js";
import { createObjectCodecs } from "../schema/object-codec.js";
import type { Access } from "./access.js";
import { createAdmission } from "./admission.js";
import type { Authentication } from "./authentication.js";
import type { Authorization } from "./authorization.js";
import type { OpenedStore } from "./store.js";
import type { TokenKeys } from "./token-keys.js";

export interface TableParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly tokenKeys: TokenKeys;
  /** Whom the reviews ask. Built later than the table, as they read the view, which needs it. */
  readonly reviewers: () => Reviewers;
}

export interface Reviewers {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
}

/** What the flags enable of the facts, with the reviews and the issuing of tokens. */
export function createServedTable({
  config,
  facts,
  tokenKeys,
  reviewers,
}: TableParts): ResourceTable {
  const authenticator: Authenticator = {
    name: "reviews",
    authenticate: (request, signal) =>
      reviewers().authentication.authenticator.authenticate(request, signal),
  };
  const authorizer: Authorizer = {
    name: "reviews",
    authorize: (attributes, signal) =>
      reviewers().authorization.authorizer.authorize(attributes, signal),
  };
  const rules: RulesSource = {
    rulesFor: async (user, namespace, signal) =>
      await reviewers().authorization.authorizer.rulesFor(user, namespace, signal),
  };
  const apiAudiences = tokenKeys.settings.audiences;
  return createResourceTable({
    naming: config.naming,
    facts,
    codecs: createObjectCodecs(facts),
    isEnabled: enabledResources(config.runtimeConfig, facts),
    virtual: {
      ...createAuthenticationReviews({ authenticator, clock: systemClock, apiAudiences }),
      ...createAuthorizationReviews({ authorizer, rules }),
    },
    subresources: { "/serviceaccounts/token": serviceAccountToken(tokenKeys.issuer) },
  });
}

export interface RegistryParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly storage: Pick<OpenedStore, "store" | "encryption">;
  readonly access: Access;
  readonly metrics: Metrics;
}

export function createRegistry(parts: RegistryParts): Registry {
  const { config, facts, metrics } = parts;
  const { table, views, authorization } = parts.access;
  const { store, encryption } = parts.storage;
  const { naming } = config;
  return {
    store,
    view: views.view,
    freshness: views.freshness,
    clock: systemClock,
    naming,
    lifetimes: { eventTtlSeconds: Math.ceil(config.eventTtlMs / 1000) },
    ownership: createOwnership({ model: facts.model, naming, clock: systemClock, table }),
    declarative: declarativeOf(config, facts.model, metrics),
    admission: createAdmission({ config, views, authorization, metrics }),
    // Knows whether a value would be stored differently by now.
    ...(encryption !== undefined && { storedForm: encryption.store }),
    writeTurns: new WriteTurns(),
    allocators: {
      [partitionId("", "services")]: createServiceAllocator({
        ...config.serviceRanges,
        addressPartition: partitionId(`networking.${naming.groupDomain}`, "ipaddresses"),
      }),
    },
  };
}

/** The facts' own rules; what they and the hand-written ones disagree about is counted (S1-FEAT-07). */
function declarativeOf(
  { features }: Config,
  model: SchemaModel,
  metrics: Metrics,
): DeclarativeValidation {
  const mismatches = metrics.counter({
    name: "declarative_validation_mismatch_total",
    help: "Fields about which declarative and handwritten validation disagreed.",
    labelNames: ["validation_identifier"],
  });
  return createDeclarativeValidation({
    model,
    isGateEnabled: (gate) => (features as Readonly<Record<string, boolean>>)[gate] === true,
    onMismatch: ({ group, resource }) => mismatches.add(1, `${group}/${resource}`),
  });
}

/** Codecs are compiled on first use; done ahead, one at a time, the first writes are quick as well. */
export async function warmCodecs(table: ResourceTable, signal: AbortSignal): Promise<void> {
  for (const { codec, kind, group, version } of table.all) {
    await nextTurn();
    if (signal.aborted) return;
    const apiVersion = formatGroupVersion({ group, version });
    const { object } = codec.decode({ kind, apiVersion, metadata: {} });
    codec.applyDefaults(object);
    codec.encode(object);
  }
}
