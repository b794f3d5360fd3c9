/** The Secrets that a pod references, and those that its service account does not list. */
import type { Container, PodObject, Volume } from "./token-volume.js";

/** The Secrets that an account lists. */
export interface AccountReferences {
  readonly secrets: ReadonlySet<string>;
  readonly pullSecrets: readonly string[];
}

type NamedList = readonly { readonly name?: string }[] | null | undefined;

export function referencesOf(account: {
  readonly secrets?: NamedList;
  readonly imagePullSecrets?: NamedList;
}): AccountReferences {
  const names = (list: NamedList) => (list ?? []).map(({ name = "" }) => name);
  return {
    secrets: new Set(names(account.secrets)),
    pullSecrets: names(account.imagePullSecrets),
  };
}

/** Whether the pod references any Secret. */
export function usesSecrets({ spec }: PodObject): boolean {
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return (
    (spec.imagePullSecrets ?? []).length > 0 ||
    containers.some((container) => secretsOfEnvironment(container, "").length > 0) ||
    (spec.volumes ?? []).some(volumeUsesSecret)
  );
}

/** Whether a volume of the pod projects service account tokens. */
export function usesTokens({ spec }: PodObject): boolean {
  return (spec.volumes ?? []).some((volume) =>
    sourcesOf(volume).some((source) => isSet(source.serviceAccountToken)),
  );
}

/** @returns why the pod is refused: it uses a Secret that its account does not list */
export function findForeignSecret(
  { spec }: PodObject,
  account: string,
  { secrets, pullSecrets }: AccountReferences,
): string | undefined {
  const why = `is not allowed because service account ${account} does not reference that`;
  for (const { secret } of spec.volumes ?? []) {
    if (!isSet(secret)) continue;
    const { secretName = "" } = secret as { secretName?: string };
    if (!secrets.has(secretName)) {
      return `volume with secret.secretName=${JSON.stringify(secretName)} ${why} secret`;
    }
  }
  const used = [
    ...(spec.initContainers ?? []).flatMap((item) => secretsOfEnvironment(item, "init container")),
    ...(spec.containers ?? []).flatMap((item) => secretsOfEnvironment(item, "container")),
  ];
  const foreign = used.find(({ name }) => !secrets.has(name));
  if (foreign !== undefined) return `${foreign.where} ${why} secret`;
  const listed = new Set<string | undefined>(pullSecrets);
  const index = (spec.imagePullSecrets ?? []).findIndex(({ name }) => !listed.has(name));
  if (index < 0) return undefined;
  const name = JSON.stringify(spec.imagePullSecrets?.[index]?.name ?? "");
  return `imagePullSecrets[${index}].name=${name} ${why} imagePullSecret`;
}

/** Like findForeignSecret, for ephemeral containers added to a running pod. */
export function findForeignEphemeralSecret(
  { spec }: PodObject,
  account: string,
  { secrets }: AccountReferences,
): string | undefined {
  const foreign = (spec.ephemeralContainers ?? [])
    .flatMap((container) => secretsOfEnvironment(container, "ephemeral container"))
    .find(({ name }) => !secrets.has(name));
  if (foreign === undefined) return undefined;
  return `${foreign.where} is not allowed because service account ${account} does not reference that secret`;
}

/** The Secrets that a container's variables reference, each with a description of its place. */
function secretsOfEnvironment(
  container: Container,
  what: string,
): { readonly name: string; readonly where: string }[] {
  const found: { name: string; where: string }[] = [];
  const of = `${what} ${container.name ?? ""}`;
  for (const { name: variable = "", valueFrom } of container.env ?? []) {
    const reference = valueFrom?.secretKeyRef ?? undefined;
    if (reference === undefined) continue;
    const name = reference.name ?? "";
    const secret = `secret.secretName=${JSON.stringify(name)}`;
    found.push({ name, where: `${of} with envVar ${variable} referencing ${secret}` });
  }
  for (const { secretRef } of container.envFrom ?? []) {
    if (secretRef === undefined || secretRef === null) continue;
    const name = secretRef.name ?? "";
    const secret = `secret.secretName=${JSON.stringify(name)}`;
    found.push({ name, where: `${of} with envFrom referencing ${secret}` });
  }
  return found;
}

/** Members of volume sources that reference a Secret. */
const SECRET_MEMBERS = ["secretRef", "nodePublishSecretRef"];

function volumeUsesSecret(volume: Volume): boolean {
  if (isSet(volume.secret)) return true;
  // A file share names its Secret in a plain field.
  if (isSet((volume.azureFile as { secretName?: string } | undefined)?.secretName)) return true;
  if (sourcesOf(volume).some((source) => isSet(source.secret))) return true;
  return Object.values(volume).some(
    (source) =>
      typeof source === "object" &&
      source !== null &&
      SECRET_MEMBERS.some((member) => isSet((source as Record<string, unknown>)[member])),
  );
}

function sourcesOf({ projected }: Volume): readonly Record<string, unknown>[] {
  const { sources } = (projected ?? {}) as { sources?: readonly Record<string, unknown>[] | null };
  return sources ?? [];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
