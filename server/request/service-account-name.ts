/** The user names and groups of service accounts: a fixed mapping (S2-SA-04, S2-SA-05). */
import { checkDnsLabel, checkDnsSubdomain } from "../api/validation-names.js";

const USER_PREFIX = "system:serviceaccount:";
const SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts";

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** The account of a user name; undefined for any other user. */
export function parseServiceAccountUser(user: string): ServiceAccountName | undefined {
  if (!user.startsWith(USER_PREFIX)) return undefined;
  const [namespace = "", name = "", ...rest] = user.slice(USER_PREFIX.length).split(":");
  const isValid =
    rest.length === 0 &&
    checkDnsLabel(namespace).length === 0 &&
    checkDnsSubdomain(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** The groups of every account in a namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [SERVICE_ACCOUNTS_GROUP, `${SERVICE_ACCOUNTS_GROUP}:${namespace}`];
}
