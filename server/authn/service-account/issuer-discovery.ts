/**
 * Issuer discovery (S2-SA-08): tells other systems how to verify our tokens, by OpenID Connect Discovery
 * 1.0. An issuer without an https:// URL cannot be discovered and has no documents.
 */
import type { KeyRing } from "./key-ring.js";
import type { ServiceAccountSettings } from "./settings.js";

const CONFIGURATION_PATH = "/.well-known/openid-configuration";
const KEY_SET_PATH = "/openid/v1/jwks";

/** An answer that is ready to be sent. */
export interface DiscoveryDocument {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long clients may cache the keys. */
const MAX_AGE_SECONDS = 3600;

/**
 * The documents by path.
 * @param serverAddress "host:port" at which clients reach this API
 */
export function createIssuerDiscovery(options: {
  readonly settings: ServiceAccountSettings;
  readonly keys: KeyRing;
  readonly serverAddress: () => string;
}): Readonly<Record<string, () => DiscoveryDocument>> {
  const { settings, keys, serverAddress } = options;
  const issuer = settings.issuers[0];
  if (!isDiscoverable(issuer)) return {};
  return {
    [CONFIGURATION_PATH]: () =>
      documentOf("application/json", {
        issuer,
        jwks_uri: settings.jwksUri || `https://${serverAddress()}${KEY_SET_PATH}`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: keys.algorithms,
      }),
    [KEY_SET_PATH]: () => documentOf("application/jwk-set+json", keys.toJwks()),
  };
}

function isDiscoverable(issuer: string): boolean {
  return /^https:\/\/[^?#]+$/.test(issuer) && URL.canParse(issuer);
}

function documentOf(contentType: string, content: unknown): DiscoveryDocument {
  return {
    status: 200,
    headers: {
      "Content-Type": contentType,
      "Cache-Control": `public, max-age=${MAX_AGE_SECONDS}`,
    },
    body: JSON.stringify(content),
  };
}
