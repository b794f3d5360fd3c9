/**
 * Wiring of a replica's initial catalog: the resources that the flags enable, and those with dependencies of
 * their own.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Authenticator } from "../authn/authenticator.js";
import type { Authorizer } from "../authz/authorizer.js";
import type { RulesSource } from "../authz/subject-rules.js";
import type { Config } from "../config/config.js";
import type { Features } from "../config/feature-gates.js";
import { enabledResources } from "../config/runtime-config.js";
import type { Catalog } from "../kinds/catalog.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { DefinitionSource } from "../registry/apiextensions/definition-strategy.js";
import { createAuthenticationReviews } from "../registry/authentication/reviews.js";
import { createAuthorizationReviews } from "../registry/authorization/reviews.js";
import { createBuiltInCatalog, type SharedResources } from "../registry/built-in-catalog.js";
import { serviceAccountToken } from "../registry/subresources/service-account-token.js";
import { ACTIONS } from "../registry/subresources/subresources.js";
import type { Actions } from "../registry/write/action.js";
import type { Facts } from "../schema/model.js";
import type { Authentication } from "./authentication.js";
import type { Authorization } from "./authorization.js";
import { COMPUTED } from "./computed-sources.js";
import type { TokenKeys } from "./token-keys.js";

export interface CatalogParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly facts: Facts;
  readonly tokenKeys: TokenKeys;
  readonly codecs: KindCodecs;
  readonly shared?: SharedResources | undefined;
  /** The existing custom resources. */
  readonly definitions: DefinitionSource;
  /** The reviews' dependencies. Built after the catalog, as they read the view, which needs it. */
  readonly reviewers: () => Reviewers;
}

export interface Reviewers {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
}

/** The enabled resources of the facts, with reviews and token requests. */
export function createServedCatalog({
  config,
  clock,
  facts,
  tokenKeys,
  codecs,
  shared,
  definitions,
  reviewers,
}: CatalogParts): Catalog {
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
  return createBuiltInCatalog({
    naming: config.naming,
    facts,
    codecs,
    shared,
    definitions,
    tracksGenerations: config.features.CRDObservedGenerationTracking,
    isEnabled: enabledResources(
      config.runtimeConfig,
      facts,
      config.runControllers || config.enableControlPlanes,
    ),
    release: config.releases.emulated,
    virtual: {
      ...createAuthenticationReviews({ authenticator, clock, apiAudiences }),
      ...createAuthorizationReviews({ authorizer, rules }),
    },
    actions: Object.keys(createActions(tokenKeys)),
    computed: COMPUTED,
  });
}

/** The implementations of the catalog's actions. */
export function createActions({ issuer }: TokenKeys): Actions {
  return { ...ACTIONS, "/serviceaccounts/token": serviceAccountToken(issuer) };
}

/** An unknown gate is off. */
export function isGateEnabled(features: Features, gate: string): boolean {
  return (features as Readonly<Record<string, boolean>>)[gate] === true;
}
