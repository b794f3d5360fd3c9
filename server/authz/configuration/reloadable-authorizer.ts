/**
 * ReloadableAuthorizer: the current chain of authorizers. When the configuration file, or the client
 * configuration of one of its webhooks, has changed and is valid, a new chain replaces it between two
 * requests; an invalid one is logged and counted, and the old chain stays (S2-AZC-19). Only webhooks can
 * be added or removed this way (S2-AZC-20).
 *
 * File contents are compared at an interval, because notifications get lost on network file systems and
 * behind the symbolic links of mounted volumes.
 */
import { runAtIntervals } from "../../../storage/base/clock.js";
import { oneLine } from "../../../storage/base/one-line.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from "../authorizer.js";
import type { RulesSource, SubjectRules } from "../subject-rules.js";
import type { CompileCondition } from "../webhook/match-conditions.js";
import { WEBHOOK_TYPE } from "./authorization-configuration.js";
import {
  type AuthorizerChain,
  buildAuthorizerChain,
  type ChainMember,
  type ChainSurroundings,
} from "./authorizer-chain.js";
import { type ConfigurationSource, readConfiguration } from "./load-configuration.js";

export interface ReloadableAuthorizerOptions extends Omit<ChainSurroundings, "members"> {
  readonly source: ConfigurationSource;
  /** Asked first, whatever the configuration: system:masters. */
  readonly first: readonly Authorizer[];
  /**
   * Creates the authorizer of a type other than Webhook ("RBAC", "Node", ...). Called once, at the
   * start, for each type of the configuration. @throws {Error} if a dependency is missing
   */
  readonly memberOf: (type: string) => ChainMember | Promise<ChainMember>;
  readonly compile: CompileCondition;
  readonly intervalMs?: number;
}

/** The documented limit is a minute; reading is cheap, so changes are seen much earlier. */
const CHECK_INTERVAL_MS = 1_000;

export class ReloadableAuthorizer implements Authorizer, RulesSource {
  readonly name = "chain";
  /** Types of the first configuration, except Webhook; they never change. */
  readonly enabledTypes: ReadonlySet<string>;
  readonly #options: ReloadableAuthorizerOptions;
  readonly #surroundings: ChainSurroundings;
  #chain: AuthorizerChain;
  #fingerprint: string;

  private constructor(
    options: ReloadableAuthorizerOptions,
    surroundings: ChainSurroundings,
    first: { readonly chain: AuthorizerChain; readonly fingerprint: string },
  ) {
    this.#options = options;
    this.#surroundings = surroundings;
    this.#chain = first.chain;
    this.#fingerprint = first.fingerprint;
    this.enabledTypes = new Set(Object.keys(surroundings.members.byType));
  }

  /** @throws {AuthorizationConfigurationError} one line: the server must not start */
  static async open(options: ReloadableAuthorizerOptions): Promise<ReloadableAuthorizer> {
    const read = await readConfiguration(options.source, options);
    const loaded = read.load();
    const byType: Record<string, ChainMember> = {};
    for (const { type } of loaded.configuration.authorizers) {
      if (type !== WEBHOOK_TYPE) byType[type] = await options.memberOf(type);
    }
    options.metrics.configured(read.fileDigest);
    const surroundings = { ...options, members: { first: options.first, byType } };
    const chain = buildAuthorizerChain(loaded, surroundings);
    return new ReloadableAuthorizer(options, surroundings, {
      chain,
      fingerprint: read.fingerprint,
    });
  }

  authorize(
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    return this.#chain.authorize(attributes, signal);
  }

  rulesFor(
    user: UserInfo,
    namespace: string,
    signal: AbortSignal,
  ): SubjectRules | Promise<SubjectRules> {
    return this.#chain.rulesFor(user, namespace, signal);
  }

  /** Follows the files until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = CHECK_INTERVAL_MS } = this.#options;
    await runAtIntervals({ clock, intervalMs }, () => this.check(), signal);
  }

  /** Checks for changes once; returns whether a new chain was installed. */
  async check(): Promise<boolean> {
    const { source, logger, metrics, clock } = this.#options;
    const read = await readConfiguration(source, this.#options);
    if (read.fingerprint === this.#fingerprint) return false;
    this.#fingerprint = read.fingerprint;
    try {
      const loaded = read.load(this.enabledTypes);
      const before = this.#chain;
      const next = buildAuthorizerChain(loaded, this.#surroundings, before);
      this.#chain = next;
      before.close(next);
      logger.info({}, "changed authorization configuration is in use");
      metrics.reloaded(true, clock.now());
      metrics.configured(read.fileDigest);
      return true;
    } catch (error) {
      logger.error(
        { err: oneLine(error) },
        "changed authorization configuration is not usable; the last good one stays",
      );
      metrics.reloaded(false, clock.now());
      return false;
    }
  }

  close(): void {
    this.#chain.close();
  }
}
