/** Objects, keys and tokens for tests of service accounts: a view of plain maps and a stopped clock. */
import { generateKeyPairSync } from "node:crypto";
import type { Clock } from "../../../../storage/base/clock.js";
import { ManualClock } from "../../../../storage/base/testing/manual-clock.js";
import type { RegistryView } from "../../../../storage/cache/registry-view.js";
import { toRevision } from "../../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../../storage/objects/decode-object.js";
import { objectPath } from "../../../../storage/objects/keys.js";
import type { StoredObject } from "../../../../storage/objects/stored-object.js";
import { createNaming } from "../../../api/naming.js";
import { BoundObjects } from "../bound-objects.js";
import { KeyRing } from "../key-ring.js";
import {
  ServiceAccountAuthenticator,
  type ServiceAccountObserver,
  type TokenRefusal,
} from "../service-account-authenticator.js";
import { type ServiceAccountFlags, toServiceAccountSettings } from "../settings.js";
import { TokenIssuer } from "../token-issuer.js";
import { type SigningKey, toSigningKey, type VerificationKey } from "../token-keys.js";

export const DEFAULT_FLAGS: ServiceAccountFlags = Object.freeze({
  serviceAccountIssuer: [],
  apiAudiences: [],
  serviceAccountLookup: true,
  serviceAccountMaxTokenExpirationMs: 0,
  serviceAccountExtendTokenExpiration: true,
  serviceAccountJwksUri: "",
});

export function makeRsaKey(): SigningKey {
  return toSigningKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);
}

export function makeEcKey(namedCurve: string): SigningKey {
  return toSigningKey(generateKeyPairSync("ec", { namedCurve }).privateKey);
}

/** A view whose objects tests put and delete by hand. */
export class FakeView {
  readonly #objects = new Map<string, StoredObject>();
  #revision = 1;

  put(resource: string, namespace: string, name: string, uid: string, rest: object = {}): void {
    const path = objectPath(namespace, name);
    const { metadata, ...others } = rest as { metadata?: object };
    const object = { kind: "X", apiVersion: "v1", metadata: { name, uid, ...metadata }, ...others };
    const revision = toRevision(++this.#revision);
    const bytes = Buffer.from(JSON.stringify(object));
    const stored = decodeStoredObject({ path, namespace, name }, bytes, revision, undefined);
    this.#objects.set(`core/${resource}/${path}`, stored);
  }

  putCorrupt(resource: string, namespace: string, name: string): void {
    const path = objectPath(namespace, name);
    const key = { path, namespace, name };
    const stored = decodeStoredObject(key, Buffer.from("?"), toRevision(1), undefined);
    this.#objects.set(`core/${resource}/${path}`, stored);
  }

  delete(resource: string, namespace: string, name: string): void {
    this.#objects.delete(`core/${resource}/${objectPath(namespace, name)}`);
  }

  get asView(): Pick<RegistryView, "partition"> {
    const partition = (id: string) => ({
      get: (path: string) => this.#objects.get(`${id}/${path}`),
    });
    return { partition } as unknown as Pick<RegistryView, "partition">;
  }
}

export interface AccountFixture {
  readonly view: FakeView;
  readonly clock: ManualClock;
  readonly keys: KeyRing;
  readonly issuer: TokenIssuer;
  readonly authenticator: ServiceAccountAuthenticator;
  /** Reasons of all refusals so far. */
  readonly refusals: TokenRefusal[];
  /** Kinds of tokens out of Secrets that were shown. */
  readonly shown: string[];
}

/** An issuer and an authenticator with the account "shop/web" of uid "u-web". */
export function openAccounts(
  options: {
    readonly flags?: Partial<ServiceAccountFlags>;
    readonly vendor?: string;
    readonly signing?: SigningKey;
    readonly others?: readonly VerificationKey[];
    readonly verifiedTokensMax?: number;
  } = {},
): AccountFixture {
  const naming = createNaming(options.vendor ?? "kubernetes");
  const settings = toServiceAccountSettings({ ...DEFAULT_FLAGS, ...options.flags }, naming);
  const keys = new KeyRing(options.signing ?? makeEcKey("P-256"), options.others ?? []);
  const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
  const view = new FakeView();
  view.put("serviceaccounts", "shop", "web", "u-web");
  const refusals: TokenRefusal[] = [];
  const shown: string[] = [];
  const observer: ServiceAccountObserver = {
    refused: (reason) => refusals.push(reason),
    accepted() {},
    shown: (kind) => shown.push(kind),
  };
  const parts = { keys, settings, naming, clock: clock as Clock };
  const objects = new BoundObjects(view.asView);
  return {
    view,
    clock,
    keys,
    refusals,
    shown,
    issuer: new TokenIssuer(parts),
    authenticator: new ServiceAccountAuthenticator({
      ...parts,
      objects,
      observer,
      ...(options.verifiedTokensMax !== undefined && {
        verifiedTokensMax: options.verifiedTokensMax,
      }),
    }),
  };
}

export const WEB_ACCOUNT = Object.freeze({ namespace: "shop", name: "web", uid: "u-web" });

/** A request for a token for this API. */
export function wish(issuer: TokenIssuer, changes: object = {}) {
  return {
    account: WEB_ACCOUNT,
    binding: {},
    audiences: issuer.settings.audiences,
    lifetimeSeconds: 3600,
    ...changes,
  };
}
