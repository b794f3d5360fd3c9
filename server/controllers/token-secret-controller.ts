/**
 * Token Secrets (S2-REQ-08): a Secret of type `.../service-account-token` that names a service account
 * gets the account's token, the root CA and its namespace. If the account is missing or was recreated, the
 * Secret is deleted, which revokes the token.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type { TokenIssuer } from "../authn/service-account/token-issuer.js";
import type { ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

export interface TokenSecretOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly issuer: Pick<TokenIssuer, "issueLegacy">;
  /** PEM certificates by which clients verify this API; "" = none known. */
  rootAuthority(): string;
}

interface SecretObject extends ApiObject {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string> | null;
}

/** Each signature takes a millisecond on another thread. */
const CONCURRENCY = 4;

/** Runs until the signal aborts. */
export async function runTokenSecretController(
  options: TokenSecretOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, naming, clock, logger } = options;
  const secrets = objects.resource("", "secrets");
  const accounts = objects.resource("", "serviceaccounts");
  const queue = new WorkQueue(clock);
  const annotation = accountAnnotation(naming, "name");
  const byAccount = new SecretIndex();
  const following = objects.follow(
    secrets,
    {
      began: () => byAccount.clear(),
      changed({ namespace = "", name = "", annotations }) {
        const account = annotations?.[annotation];
        byAccount.set(
          `${namespace}/${name}`,
          account === undefined ? "" : `${namespace}/${account}`,
        );
        if (account !== undefined) queue.add(`${namespace}/${name}`);
      },
      removed: ({ namespace = "", name = "" }: ObjectMeta) =>
        byAccount.set(`${namespace}/${name}`, ""),
    },
    signal,
  );
  const watching = objects.watch(
    accounts,
    ({ namespace, name }) => {
      for (const secret of byAccount.of(`${namespace}/${name}`)) queue.add(secret);
    },
    signal,
  );
  const working = queue.run(
    async (key) => {
      try {
        await attend(options, key, signal);
        queue.forget(key);
      } catch (error) {
        if (signal.aborted) return;
        const code = error instanceof StatusError ? error.code : 500;
        // It is gone or immutable: only a change of it can help.
        if (code === 404 || code === 403 || code === 422) return queue.forget(key);
        if (code !== 409) logger.warn({ secret: key, err: error }, "filling a Secret failed");
        queue.retry(key);
      }
    },
    signal,
    CONCURRENCY,
  );
  await Promise.all([following, watching, working]);
}

/** Processes a Secret: fills it, deletes it, or leaves it alone. @throws {StatusError} */
async function attend(options: TokenSecretOptions, key: string, signal: AbortSignal) {
  const { objects, naming } = options;
  const slash = key.indexOf("/");
  const place = { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
  await objects.refresh();
  const secrets = objects.resource("", "secrets");
  const secret = objects.get(secrets, place) as SecretObject | undefined;
  if (secret === undefined || secret.type !== `${naming.labelDomain}/service-account-token`) return;
  if ((secret.metadata.deletionTimestamp ?? "") !== "") return;
  const account = accountOf(options, secret);
  if (account === "unreadable") return;
  if (account === undefined) {
    const { uid = "", resourceVersion = "" } = secret.metadata;
    const conditions = { uid, resourceVersion, propagationPolicy: "Background" } as const;
    await objects.remove(secrets, place, conditions, signal);
    return;
  }
  const filled = await fill(options, secret, account);
  if (filled !== undefined) await objects.update(secrets, filled, "", signal);
}

/** The account that the Secret names; undefined if it is missing. */
function accountOf({ objects, naming }: TokenSecretOptions, { metadata }: SecretObject) {
  const name = metadata.annotations?.[accountAnnotation(naming, "name")] ?? "";
  const uid = metadata.annotations?.[accountAnnotation(naming, "uid")] ?? "";
  const accounts = objects.resource("", "serviceaccounts");
  const account = objects.metadata(accounts, { namespace: metadata.namespace ?? "", name });
  if (account === undefined || account === "unreadable") return account;
  return uid === "" || uid === account.uid ? account : undefined;
}

/** @returns the Secret with missing fields filled in; undefined if none are missing */
async function fill(
  { naming, issuer, rootAuthority }: TokenSecretOptions,
  secret: SecretObject,
  { name = "", uid = "" }: ObjectMeta,
): Promise<SecretObject | undefined> {
  const { metadata } = secret;
  const { namespace = "", name: secretName = "" } = metadata;
  const data = { ...secret.data };
  const annotations = { ...metadata.annotations };
  const authority = base64(rootAuthority());
  let isChanged = false;
  const set = (members: Record<string, string>, key: string, value: string) => {
    members[key] = value;
    isChanged = true;
  };
  if (authority !== "" && data["ca.crt"] !== authority) set(data, "ca.crt", authority);
  if ((data.namespace ?? "") === "") set(data, "namespace", base64(namespace));
  if ((data.token ?? "") === "") {
    const token = await issuer.issueLegacy({ namespace, name, uid }, secretName);
    set(data, "token", base64(token));
  }
  const uidAnnotation = accountAnnotation(naming, "uid");
  if (annotations[uidAnnotation] !== uid) set(annotations, uidAnnotation, uid);
  return isChanged ? { ...secret, metadata: { ...metadata, annotations }, data } : undefined;
}

function accountAnnotation({ labelDomain }: Naming, part: "name" | "uid"): string {
  return `${labelDomain}/service-account.${part}`;
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** The Secrets of each account; bounded by the number of such Secrets. */
class SecretIndex {
  readonly #accountOf = new Map<string, string>();
  readonly #secretsOf = new Map<string, Set<string>>();

  clear(): void {
    this.#accountOf.clear();
    this.#secretsOf.clear();
  }

  /** @param account "" = none */
  set(secret: string, account: string): void {
    const before = this.#accountOf.get(secret);
    if (before !== undefined) {
      const secrets = this.#secretsOf.get(before);
      secrets?.delete(secret);
      if (secrets?.size === 0) this.#secretsOf.delete(before);
      this.#accountOf.delete(secret);
    }
    if (account === "") return;
    this.#accountOf.set(secret, account);
    const secrets = this.#secretsOf.get(account) ?? new Set();
    secrets.add(secret);
    this.#secretsOf.set(account, secrets);
  }

  of(account: string): Iterable<string> {
    return this.#secretsOf.get(account) ?? [];
  }
}
