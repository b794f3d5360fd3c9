/**
 * Running a rendered container as a process: its command with the flags as rendered, volumes as
 * directories, its environment. Only what a node would provide is put in place of what a cluster has:
 * programs for images, addresses of the loopback network for pods' addresses and names.
 */
import { randomInt } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { requireTool } from "../tools/find-tool.js";
import { REPOSITORY, type Rendered } from "./chart.js";

/** Where the image has the project. */
const IMAGE_ROOT = "/opt/keelson";

export interface PodPlan {
  // biome-ignore lint/suspicious/noExplicitAny: a pod's spec as the template gives it
  readonly spec: any;
  /** Of this pod: "demo-keelson-etcd-0". */
  readonly name: string;
  readonly ip: string;
  /** What texts become in arguments and environment: names of other pods and services. */
  readonly names: Readonly<Record<string, string>>;
  /** Contents of Secrets by name and key. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Folders for paths: the service account's token, a claim. */
  readonly folders?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Where the project is in images of Keelson, by their names; in others it is this one. */
  readonly images?: Readonly<Record<string, string>>;
}

export interface RunningPod extends AsyncDisposable {
  readonly child: Child;
  readonly ip: string;
  /** Path in the container -> folder here. */
  readonly folders: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/** A loopback network that nobody else uses: addresses for pods, on which they may have any port. */
export function choosePodNetwork(): (index: number) => string {
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  return (index) => `${network}.${index + 1}`;
}

export async function runPod(plan: PodPlan): Promise<RunningPod> {
  const { spec, name, ip, names } = plan;
  const [container] = spec.containers;
  const root = plan.images?.[container.image] ?? REPOSITORY;
  const volumesRoot = await makeTempDir(`pod-${name}`);
  const folders: Record<string, string> = { ...plan.folders };
  for (const mount of container.volumeMounts ?? []) {
    if (plan.folders?.[mount.mountPath] !== undefined) continue;
    const folder = join(volumesRoot.path, mount.name);
    await mkdir(folder, { recursive: true });
    folders[mount.mountPath] = folder;
    const volume = (spec.volumes ?? []).find((one: { name: string }) => one.name === mount.name);
    if (volume?.secret === undefined) continue;
    const { secretName, optional, items } = volume.secret;
    const contents = plan.secrets[secretName] ?? (optional && {});
    if (contents === undefined) throw new Error(`the pod needs a Secret ${secretName}`);
    const wanted = items?.map(({ key }: { key: string }) => key) ?? Object.keys(contents);
    for (const key of wanted) {
      if (contents[key] !== undefined) await writeFile(join(folder, key), contents[key]);
    }
  }
  const variables = environmentOf(container, { name, ip }, plan.secrets);
  const replacements: Record<string, string> = {
    ...folders,
    ...names,
    "0.0.0.0": ip,
    [IMAGE_ROOT]: root,
  };
  // The longest first, as one path may be the beginning of another; and what was put in place stays.
  const patterns = Object.keys(replacements).sort((a, b) => b.length - a.length);
  const either = patterns.map((text) => text.replace(/[.$]/g, "\\$&")).join("|");
  // "10.0.0.0" is not "1" and any address.
  const pattern = new RegExp(`(?<![0-9.])(?:${either})`, "g");
  const place = (text: string): string =>
    text
      .replace(/\$\(([A-Z_]+)\)/g, (whole, key) => variables[key] ?? whole)
      .replace(pattern, (found) => replacements[found] ?? found);
  const written: string[] = [...container.command, ...(container.args ?? [])];
  const command = [...(await programOf(written[0] ?? "", root)), ...written.slice(1).map(place)];
  const env: Record<string, string> = { ...plan.env };
  for (const [key, value] of Object.entries(variables)) env[key] = place(value);
  const child = new Child("/usr/bin/env", [
    ...["-i", `PATH=${process.env.PATH ?? ""}`],
    ...Object.entries(env).map(([key, value]) => `${key}=${value}`),
    ...command,
  ]);
  return {
    child,
    ip,
    folders,
    command,
    async [Symbol.asyncDispose]() {
      await child.end("SIGKILL");
      await volumesRoot[Symbol.asyncDispose]();
    },
  };
}

/** The Secrets that were rendered, decoded. */
export function secretsOf(objects: readonly Rendered[]): Record<string, Record<string, string>> {
  const secrets: Record<string, Record<string, string>> = {};
  for (const { kind, metadata, data } of objects) {
    if (kind !== "Secret") continue;
    const contents: Record<string, string> = {};
    for (const [key, text] of Object.entries(data ?? {})) {
      contents[key] = Buffer.from(String(text), "base64").toString();
    }
    secrets[metadata.name] = contents;
  }
  return secrets;
}

function environmentOf(
  // biome-ignore lint/suspicious/noExplicitAny: a container as the template gives it
  container: any,
  pod: { readonly name: string; readonly ip: string },
  secrets: PodPlan["secrets"],
): Record<string, string> {
  const fields: Record<string, string> = {
    "status.podIP": pod.ip,
    "metadata.name": pod.name,
  };
  const variables: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env ?? []) {
    const field = valueFrom?.fieldRef?.fieldPath;
    const secret = valueFrom?.secretKeyRef;
    if (secret !== undefined) variables[name] = secrets[secret.name]?.[secret.key] ?? "";
    else variables[name] = field === undefined ? String(value) : (fields[field] ?? "");
  }
  return variables;
}

async function programOf(name: string, root: string): Promise<string[]> {
  switch (name) {
    case "keelson":
      return [process.execPath, join(root, "dist", "bundle", "main.js")];
    case "node":
      return [process.execPath];
    case "etcd":
    case "redis-server":
      return [await requireTool(name)];
    default:
      throw new Error(`no image of the chart has a program ${name}`);
  }
}
