/**
 * Finds the programs that tests run beside Keelson. All knowledge about where they are and how to
 * get them is in e2e/install-tools.sh; this asks that script, once per tool and process.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type ToolName =
  | "etcd"
  | "etcd-3.4"
  | "etcd-newest"
  | "redis-server"
  | "kubectl"
  | "kubectl-newest"
  | "ruby-client"
  | "helm-3"
  | "helm-4"
  | "haproxy"
  | "prometheus"
  | "chromium"
  | "python-client"
  | "client-go"
  | "pytest"
  | "js-runners"
  | "node-22"
  | "jemalloc"
  | "buildah"
  | "mmdebstrap"
  | "faketime";

const found = new Map<ToolName, Promise<string | undefined>>();

/**
 * The path of a tool, got from the machine's package sources when it is missing. Undefined: it is
 * neither there nor to be had (the script has said on stderr what to install).
 */
export function findTool(name: ToolName): Promise<string | undefined> {
  let path = found.get(name);
  if (path === undefined) {
    path = askScript(name);
    found.set(name, path);
  }
  return path;
}

/** As findTool, for tests that make no sense without the tool. @throws {Error} it is not to be had */
export async function requireTool(name: ToolName): Promise<string> {
  const path = await findTool(name);
  if (path === undefined) throw new Error(`${name} is needed: see e2e/install-tools.sh`);
  return path;
}

function askScript(name: ToolName): Promise<string | undefined> {
  return new Promise((resolve) => {
    const script = join(repositoryRoot(), "e2e", "install-tools.sh");
    execFile("sh", [script, name], (_error, stdout, stderr) => {
      process.stderr.write(stderr);
      const path = stdout.trim();
      resolve(path === "" ? undefined : path);
    });
  });
}

/** The folder that holds e2e/install-tools.sh: code runs from the repository or from its dist. */
export function repositoryRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "e2e", "install-tools.sh"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error("e2e/install-tools.sh is in no folder above this file");
    folder = parent;
  }
  return folder;
}
