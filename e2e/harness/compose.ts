/**
 * The services of deploy/compose.yaml as processes: their commands, environments, files and volumes as they are written.
 * In place of what an engine provides there are programs for images, and an address of the loopback network for each
 * service's name.
 */
import { randomInt } from "node:crypto";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { Child } from "../tools/child.js";
import { repositoryRoot, requireTool } from "../tools/find-tool.js";
import { makeTempDir } from "./temp-dir.js";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

export interface ComposedService {
  readonly child: Child;
  readonly address: string;
  /** Where something of the container's file system is on this machine. */
  path(inside: string): string;
}

export interface Composed extends AsyncDisposable {
  /** Starts a service. */
  start(name: string): Promise<ComposedService>;
}

const DEPLOY = join(repositoryRoot(), "deploy");
const WITHIN_A_NETWORK = "0.0.0.0";

/** What images do that a command is not written for, and what a network of one's own makes needless. */
const PROGRAMS: Readonly<Record<string, (address: string) => Promise<string[]>>> = {
  etcd: async () => [await requireTool("etcd")],
  keelson: async () => [process.execPath, join(repositoryRoot(), "dist", "bundle", "main.js")],
  redis: async (address) => [
    await requireTool("redis-server"),
    ...["--bind", address, "--protected-mode", "no"],
  ],
  // Its image has a master process beside it, which reloads.
  haproxy: async () => [
    await requireTool("haproxy"),
    ...["-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"],
  ],
  prometheus: async (address) => [
    await requireTool("prometheus"),
    ...["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"],
    `--web.listen-address=${address}:9090`,
  ],
};

export async function readCompose(): Promise<Composed> {
  const file: ComposeFile = parse(await readFile(join(DEPLOY, "compose.yaml"), "utf8"), {
    merge: true,
  });
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const names = Object.keys(file.services);
  const addresses = new Map(names.map((name, index) => [name, `${network}.${index + 1}`]));
  const folder = await makeTempDir("compose");
  const running: Child[] = [];
  return {
    async start(name) {
      const service = file.services[name];
      const address = addresses.get(name);
      if (service === undefined || address === undefined) throw new Error(`no service ${name}`);
      const path = (inside: string) => join(folder.path, name, inside);
      const place = placer(addresses, address, path);
      await putFiles(file, service, { place, path });
      const own = await PROGRAMS[imageOf(service)]?.(address);
      if (own === undefined) throw new Error(`no program for ${service.image}`);
      // The image of Redis begins its command with the program, as a shell would.
      const [first, ...rest] = service.command ?? [];
      const args = [...(first === "redis-server" ? rest : (service.command ?? []))];
      const [program = "", ...given] = [...own, ...args];
      const env = Object.entries(service.environment ?? {}).map(([key, value]) => [
        key,
        place(value),
      ]);
      const child = new Child(program, given.map(place), "", Object.fromEntries(env));
      running.push(child);
      return { child, address, path };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((child) => child.end("SIGKILL")));
      await folder[Symbol.asyncDispose]();
    },
  };
}

function imageOf({ image }: Service): string {
  return basename(image).replace(/:.*/, "");
}

/** Puts addresses for names, and paths of this machine for those of the container. */
function placer(
  addresses: ReadonlyMap<string, string>,
  address: string,
  path: (inside: string) => string,
): (text: string) => string {
  // Of a URL, an address with a port or a member's address, not the label before it.
  const names = [...addresses.keys()].join("|");
  const hosts = new RegExp(`(?<=//|[ "'\\[])(${names})(?=:\\d)`, "g");
  return (text) =>
    text
      .replace(hosts, (name) => addresses.get(name) ?? name)
      .replaceAll(WITHIN_A_NETWORK, address)
      .replace(/^(\s*bind) :/gm, `$1 ${address}:`)
      // Nobody waits for a quarter of a minute here.
      .replace("scrape_interval: 15s", "scrape_interval: 1s")
      .replace(/(?<=^|[=\s[])\/(?:var\/lib|etc|usr\/local\/etc|prometheus)\b[^\s\]]*/g, path);
}

async function putFiles(
  { configs }: ComposeFile,
  { volumes = [], configs: used = [] }: Service,
  { place, path }: { place: (text: string) => string; path: (inside: string) => string },
): Promise<void> {
  for (const { source, target } of used) {
    await mkdir(dirname(path(target)), { recursive: true });
    await writeFile(path(target), configs[source]?.content ?? "");
  }
  for (const volume of volumes) {
    const [from = "", inside = ""] = volume.split(":");
    if (!from.startsWith(".")) await mkdir(path(inside), { recursive: true });
    else if (/\.\w+$/.test(from)) {
      await mkdir(dirname(path(inside)), { recursive: true });
      await writeFile(path(inside), place(await readFile(join(DEPLOY, from), "utf8")));
    } else await cp(join(DEPLOY, from), path(inside), { recursive: true });
  }
}
