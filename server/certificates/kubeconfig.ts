/** Writes the administrator's kubeconfig, with everything embedded, readable by its owner only. */
import { randomBytes } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "../../storage/base/logger.js";
import { makeDirectory } from "../../storage/base/make-directory.js";
import type { Identity } from "./identity-files.js";

export interface KubeconfigOptions {
  /** "https://127.0.0.1:6443". */
  readonly server: string;
  /** PEM of the authority that signed the serving certificate. */
  readonly authority: string;
  readonly user: Identity;
  readonly userName: string;
}

/** The port whose instance needs no number in its name. */
const USUAL_PORT = "6443";
const LOOPBACK = /^(127\.|localhost$|\[::1\]$)/;

/** The instance's name: its host and port where they are not the usual ones, so that files can be merged. */
function nameOf(server: string): string {
  const { hostname, port } = new URL(server);
  const host = LOOPBACK.test(hostname) ? [] : [hostname.replace(/^\[|\]$/g, "")];
  return ["keelson", ...host, ...(port === USUAL_PORT ? [] : [port || "443"])].join("-");
}

/**
 * Leaves a file that is the same alone, and an older one where the new one cannot be written, as on a full disk.
 * @throws {Error} of the file system, where there is none
 */
export async function writeAdminKubeconfig(
  path: string,
  options: KubeconfigOptions,
  logger: Logger,
): Promise<void> {
  await makeDirectory(dirname(path), 0o700);
  const text = render(options);
  const found = await readFile(path, "utf8").catch(() => undefined);
  if (found === text) return;
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    if (found === undefined) throw error;
    logger.warn({ path, err: error }, "the kubeconfig could not be written; an older one stays");
  }
}

function render({ server, authority, user, userName }: KubeconfigOptions): string {
  const clusterName = nameOf(server);
  // Names of users must differ, too, or merged files would mix their certificates.
  const context = `${userName}@${clusterName}`;
  return `apiVersion: v1
kind: Config
clusters:
- name: ${quote(clusterName)}
  cluster:
    server: ${quote(server)}
    certificate-authority-data: ${base64(authority)}
users:
- name: ${quote(context)}
  user:
    client-certificate-data: ${base64(user.cert)}
    client-key-data: ${base64(user.key)}
contexts:
- name: ${quote(context)}
  context:
    cluster: ${quote(clusterName)}
    user: ${quote(context)}
current-context: ${quote(context)}
preferences: {}
`;
}

/** JSON strings are YAML strings. */
function quote(text: string): string {
  return JSON.stringify(text);
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
