/** Renders the flag table: `--help` on the terminal and docs/run/flags.md. */
import { FEATURE_GATES, type FeatureGate } from "./feature-gates.js";
import type { Command, FlagDefinition } from "./flag-definition.js";
import { FLAG_SECTIONS, FLAGS } from "./flags.js";

const WIDTH = 100;
const INDENT = "        ";

const USAGE = `keelson: a Kubernetes-compatible resource API server

Usage:
  keelson [serve] [flags]      run a replica of the API server
  keelson controllers [flags]  run only the control loops, on the same etcd
  keelson explain-admission -f object.yaml
                               what the rules of a cluster say to a write; has flags of its own
  keelson console [flags]      a page to look at an API and change it, in the browser of this machine
  keelson fault TYPE [flags]   orders a fault of a server of tests; has flags of its own
  keelson validate PATH...     whether manifests would be taken, without a server; has flags of its own
  keelson why TYPE NAME        what led to a write of an object; has flags of its own
  keelson blame TYPE NAME      an object with who wrote each field; has flags of its own
  keelson history TYPE NAME    who changed which fields of an object; has flags of its own
  keelson diff TYPE NAME       what differs between two versions of an object
  keelson snapshot save FILE   the objects of any server in a file, and back by load
  keelson status               whether a server is ready, who you are there, and its replicas
  keelson up [flags] -- COMMAND
                               run a command with the KUBECONFIG of a fresh API, which goes behind it
  keelson completion SHELL     completion of this command line: bash, zsh or fish
  keelson --version            print the version
  keelson [command] --help     print the flags
`;

const UP_USAGE = `keelson up: runs a command with the KUBECONFIG of a fresh API, and removes the API behind it

Usage:
  keelson up [flags] -- COMMAND [ARGUMENTS]

The command has standard input, output and error for itself, and KUBECONFIG in its environment: the administrator of
an API that is empty but for --manifests. SIGINT, SIGTERM and SIGHUP are passed on to it. Whoever kills keelson itself
ends the command by SIGTERM. Exit status: that of the command, 128 and the number of the signal that ended it, 127
where it is not found, 126 where it may not be run; 1: the API does not start, said in one line.

The flags are those of "keelson serve", with any free port and a temporary --data-dir. They stand before the dashes.
`;

/** @param command only its flags; undefined = all */
export function renderHelp(command?: Command): string {
  return `${USAGE}${renderSections(command)}`;
}

export function renderUpHelp(): string {
  return `${UP_USAGE}${renderSections("serve")}`;
}

function renderSections(command?: Command): string {
  const sections = FLAG_SECTIONS.map((section) => {
    const flags = flagsOf(section, command).map(renderFlag);
    return flags.length === 0 ? "" : `\n${section}:\n\n${flags.join("\n")}`;
  });
  return `${sections.join("")}\nFeature gates:\n\n${renderGates()}`;
}

export function renderFlagsDocument(): string {
  const sections = FLAG_SECTIONS.map((section) => {
    const rows = flagsOf(section).map(
      (flag) =>
        `| \`--${flag.name}\` | ${flag.type} | ${shownDefault(flag)} | ${(flag.commands ?? ["serve", "controllers"]).join(", ")} | ${flag.help} |`,
    );
    return `## ${section}\n\n| flag | type | default | command | meaning |\n|---|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  const gates = gateEntries().map(
    ([name, gate]) =>
      `| \`${name}\` | ${gate.stage} | ${gate.default} | ${gate.isLocked ? "yes" : ""} | ${gate.help} |`,
  );
  return `# Flags

Made from the tables in \`server/config/flags.ts\` and \`server/config/feature-gates.ts\`; a test compares them.
To write it anew after a build: \`node dist/server/config/write-flags-document.js docs/run/flags.md\`.

Flags are written \`--flag=value\` or \`--flag value\`; a boolean alone is true. Types: *duration* is Go's (\`5m30s\`),
*bytes* takes Ki, Mi and Gi, *strings* is a comma-separated list and may be repeated, *switches* is a list of
\`name=true|false\`. A flag that is unknown, has a bad value or does not go with another one is refused with one line on
standard error and exit status 1, before anything is opened.

${sections.join("\n")}
## Feature gates

Set by \`--feature-gates\`. \`AllAlpha\` and \`AllBeta\` stand for all gates of that stage.

| gate | stage | default | locked | meaning |
|---|---|---|---|---|
${gates.join("\n")}
`;
}

function flagsOf(section: string, command?: Command): FlagDefinition[] {
  return (Object.values(FLAGS) as FlagDefinition[]).filter(
    (flag) =>
      flag.section === section &&
      (command === undefined || (flag.commands?.includes(command) ?? true)),
  );
}

function shownDefault(flag: FlagDefinition): string {
  if (flag.defaultHelp !== undefined) return flag.defaultHelp;
  return flag.default === "" ? "" : `\`${flag.default}\``;
}

function renderFlag(flag: FlagDefinition): string {
  const shorthand = flag.shorthand === undefined ? "" : `-${flag.shorthand}, `;
  const text = flag.defaultHelp ?? flag.default;
  const help = text === "" ? flag.help : `${flag.help} (default ${text})`;
  return `  ${shorthand}--${flag.name} ${flag.type}\n${wrap(help)}`;
}

function renderGates(): string {
  return gateEntries()
    .map(([name, gate]) => {
      const state = gate.isLocked ? `locked to ${gate.default}` : `default ${gate.default}`;
      return `  ${name} (${gate.stage}, ${state})\n${wrap(gate.help)}`;
    })
    .join("\n");
}

function gateEntries(): [string, FeatureGate][] {
  return Object.entries(FEATURE_GATES);
}

function wrap(text: string): string {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(" ")) {
    if (line !== INDENT && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = INDENT;
    }
    line += line === INDENT ? word : ` ${word}`;
  }
  return `${[...lines, line].join("\n")}\n`;
}
