/**
 * ServiceAccount: every pod runs as a service account of its namespace (`default` when it names none) and
 * finds the account's token, the root CA and its namespace under a well-known path. A mirror pod of a
 * node gets none of these and may not request them.
 */

import type { Clock } from "../../storage/base/clock.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { objectPath, partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Naming } from "../api/naming.js";
import { type SignalSource, signalOf } from "../request/lazy-signal.js";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  handlesOnly,
  PODS,
  refuse,
} from "./admission.js";
import {
  type AccountReferences,
  findForeignEphemeralSecret,
  findForeignSecret,
  referencesOf,
  usesSecrets,
  usesTokens,
} from "./secret-references.js";
import { mountToken, type PodObject } from "./token-volume.js";

export interface ServiceAccountAdmissionOptions {
  readonly view: Pick<RegistryView, "partition">;
  /** Resolves when the view holds every write acknowledged before the call; refusals wait for it. */
  fresh(): Promise<void>;
  readonly naming: Naming;
  readonly clock: Clock;
}

/** The fields of an account that affect its pods. */
interface Account extends AccountReferences {
  readonly automount: boolean | undefined;
  /** Whether its pods may use only the Secrets that it lists. */
  readonly limitsSecrets: boolean;
}

const DEFAULT_ACCOUNT = "default";

/** A new namespace gets its default account within moments; a pod waits that long for it. */
const DEFAULT_ACCOUNT_TRIES = 10;
const RETRY_MS = 150;

/** The spellings of true in an annotation. */
const TRUE_TEXTS: ReadonlySet<string> = new Set(["1", "t", "T", "true", "True", "TRUE"]);

export class ServiceAccountAdmission implements AdmissionPlugin {
  readonly name = "ServiceAccount";
  readonly #options: ServiceAccountAdmissionOptions;
  readonly #known = new WeakMap<StoredObject, Account>();

  constructor(options: ServiceAccountAdmissionOptions) {
    this.#options = options;
  }

  readonly handles: Handles = (...asked) =>
    handlesOnly(PODS, ["CREATE"])(...asked) ||
    handlesOnly(PODS, ["UPDATE"], ["ephemeralcontainers"])(...asked);

  mutate(attributes: AdmissionAttributes, signal: SignalSource): boolean | Promise<boolean> {
    if (attributes.operation !== "CREATE") return false;
    const pod = attributes.object as PodObject;
    if (this.#isMirror(pod)) {
      // Checked before the rest of the pod, with the same messages.
      this.#checkMirror(attributes, pod);
      return false;
    }
    const isNamed = nameAccount(pod);
    const account = this.#account(attributes.namespace, pod.spec.serviceAccountName ?? "");
    if (account !== undefined) return this.#complete(pod, account) || isNamed;
    return this.#awaitAccount(attributes, pod, signalOf(signal)).then(
      (found) => this.#complete(pod, found) || isNamed,
    );
  }

  validate(attributes: AdmissionAttributes, signal: SignalSource): Promise<void> | undefined {
    const pod = attributes.object as PodObject;
    if (attributes.operation === "CREATE" && this.#isMirror(pod)) {
      this.#checkMirror(attributes, pod);
      return undefined;
    }
    const name = pod.spec.serviceAccountName ?? "";
    // Another plugin may have removed or replaced it.
    if (name === "") {
      const ownName = pod.metadata.name ?? "";
      throw refuse(
        attributes,
        `no service account specified for pod ${attributes.namespace}/${ownName}`,
      );
    }
    const account = this.#account(attributes.namespace, name);
    if (account !== undefined) {
      this.#checkSecrets(attributes, pod, account);
      return undefined;
    }
    return this.#awaitAccount(attributes, pod, signalOf(signal)).then((found) =>
      this.#checkSecrets(attributes, pod, found),
    );
  }

  #isMirror({ metadata }: PodObject): boolean {
    const annotation = `${this.#options.naming.labelDomain}/config.mirror`;
    return metadata.annotations?.[annotation] !== undefined;
  }

  #checkMirror(attributes: AdmissionAttributes, pod: PodObject): void {
    const { serviceAccountName = "", serviceAccount = "" } = pod.spec;
    if (serviceAccountName !== "" || serviceAccount !== "") {
      throw refuse(attributes, "a mirror pod may not reference service accounts");
    }
    if (usesSecrets(pod)) throw refuse(attributes, "a mirror pod may not reference secrets");
    if (usesTokens(pod)) {
      throw refuse(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
    }
  }

  /** Adds the account's settings to the pod. @returns whether it changed */
  #complete(pod: PodObject, account: Account): boolean {
    const { spec } = pod;
    const { naming } = this.#options;
    const mounts = spec.automountServiceAccountToken ?? account.automount ?? true;
    let isChanged = mounts && mountToken(naming, spec);
    if ((spec.imagePullSecrets ?? []).length === 0 && account.pullSecrets.length > 0) {
      spec.imagePullSecrets = account.pullSecrets.map((name) => ({ name }));
      isChanged = true;
    }
    return isChanged;
  }

  #checkSecrets(attributes: AdmissionAttributes, pod: PodObject, account: Account): void {
    if (!account.limitsSecrets) return;
    const name = pod.spec.serviceAccountName ?? "";
    const why =
      attributes.operation === "CREATE"
        ? findForeignSecret(pod, name, account)
        : findForeignEphemeralSecret(pod, name, account);
    if (why !== undefined) throw refuse(attributes, why);
  }

  /** From the current view. */
  #account(namespace: string, name: string): Account | undefined {
    const { view, naming } = this.#options;
    const partition = view.partition(partitionId("", "serviceaccounts"));
    const stored = partition.get(objectPath(namespace, name));
    if (stored === undefined || stored.corruption !== undefined) return undefined;
    let known = this.#known.get(stored);
    if (known === undefined) {
      known = parseAccount(naming, stored);
      this.#known.set(stored, known);
    }
    return known;
  }

  /** Waits for an account that is missing or not visible yet. @throws {StatusError} 403 */
  async #awaitAccount(
    attributes: AdmissionAttributes,
    { spec: { serviceAccountName: name = "" } }: PodObject,
    signal: AbortSignal,
  ): Promise<Account> {
    const { fresh, clock } = this.#options;
    const { namespace } = attributes;
    const tries = name === DEFAULT_ACCOUNT ? DEFAULT_ACCOUNT_TRIES : 1;
    for (let attempt = 0; attempt < tries; attempt++) {
      if (attempt > 0) await clock.sleep(RETRY_MS, signal);
      await fresh();
      const account = this.#account(namespace, name);
      if (account !== undefined) return account;
    }
    throw refuse(
      attributes,
      `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
    );
  }
}

/** `serviceAccount` is the deprecated name of the field; both are kept equal. */
function nameAccount(pod: PodObject): boolean {
  const { spec } = pod;
  const { serviceAccountName = "", serviceAccount = "" } = spec;
  const name = serviceAccountName || serviceAccount || DEFAULT_ACCOUNT;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  return name !== serviceAccountName || name !== serviceAccount;
}

interface AccountObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly automountServiceAccountToken?: boolean | null;
  readonly secrets?: readonly { readonly name?: string }[] | null;
  readonly imagePullSecrets?: readonly { readonly name?: string }[] | null;
}

function parseAccount({ labelDomain }: Naming, { bytes }: StoredObject): Account {
  const object = JSON.parse(bytes.toString("utf8")) as AccountObject;
  const limits = object.metadata.annotations?.[`${labelDomain}/enforce-mountable-secrets`] ?? "";
  return {
    ...referencesOf(object),
    automount: object.automountServiceAccountToken ?? undefined,
    limitsSecrets: TRUE_TEXTS.has(limits),
  };
}
