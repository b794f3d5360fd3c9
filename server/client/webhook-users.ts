/**
 * WebhookUsers: this server's credentials for webhooks, from a client configuration file with users
 * named like hosts: "hook.team.svc", "hook.example.com:8443", "*.example.com", "*"; else the user of its
 * current context. The most specific name wins, and one with a port before one without.
 */
import { readFile } from "node:fs/promises";
import type { Clock } from "../../storage/base/clock.js";
import type { Naming } from "../api/naming.js";
import { type ClientUser, parseClientUsers } from "./client-config.js";
import type { CredentialSource } from "./credentials.js";
import { processEnvironment } from "./exec-credentials.js";
import { createCredentials } from "./open-client.js";

/** @param host "hook.team.svc:443"; undefined = no credentials */
export type CredentialsByHost = (host: string) => CredentialSource | undefined;

/** @throws {ClientConfigError} */
export async function readWebhookUsers(
  path: string,
  { naming, clock }: { readonly naming: Naming; readonly clock: Clock },
): Promise<CredentialsByHost> {
  const { users, current } = parseClientUsers(await readFile(path, "utf8"), { path, naming });
  const sources = new Map<ClientUser, CredentialSource>();
  return (host) => {
    const user = namesOf(host)
      .map((name) => users.get(name))
      .find((found) => found !== undefined);
    const chosen = user ?? current;
    if (chosen === undefined) return undefined;
    const source = sources.get(chosen) ?? createCredentials(chosen, clock, processEnvironment());
    sources.set(chosen, source);
    return source;
  };
}

const HTTPS_PORT = ":443";

/** Possible user names for a host, most specific first. */
function namesOf(host: string): readonly string[] {
  const forms = host.endsWith(HTTPS_PORT) ? [host, host.slice(0, -HTTPS_PORT.length)] : [host];
  return [...forms.flatMap(withStars), "*"];
}

function withStars(host: string): readonly string[] {
  const labels = host.split(".");
  return [host, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join(".")}`)];
}
