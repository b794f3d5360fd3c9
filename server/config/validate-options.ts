/** The command line of `keelson validate`. Nothing is opened here. */
import { API_RELEASE, compareReleases, formatRelease, parseRelease } from "../schema/lifecycle.js";
import { flagLines, oneOf, parseFlags } from "./command-flags.js";
import { OLDEST_RELEASE } from "./effective-release.js";

export const REPORT_FORMS = ["text", "json", "junit", "github"] as const;

export type ReportForm = (typeof REPORT_FORMS)[number];

export interface ValidateOptions {
  readonly paths: readonly string[];
  readonly output: ReportForm;
  /** Whether objects of kinds that nobody defines are findings. */
  readonly unknownKinds: "refuse" | "skip";
  /** "1.36"; undefined = the newest. */
  readonly kubernetes: string | undefined;
}

const RELEASES = `${formatRelease(OLDEST_RELEASE)} to ${formatRelease(API_RELEASE)}`;

const FLAGS = {
  filename:
    "a file or a folder (*.yaml, *.yml, *.json, with the folders in it), - for standard input; may be repeated",
  output: "text, json, junit or github (annotations of a workflow); default: text",
  "unknown-kinds":
    "refuse or skip objects whose definition is not among the files; default: refuse",
  kubernetes: `the release whose API it is: ${RELEASES}; default: the newest`,
} as const;

export const VALIDATE_HELP = `keelson validate: whether manifests would be taken, without a server

Usage:
  keelson validate -f crds/ -f manifests/ [flags]
  helm template CHART | keelson validate -f crds/ -

An API is started in this process, on a temporary folder. Namespaces, definitions, classes, limits and policies are
applied to it, and everything else is a dry run: schemas, rules of custom resources, defaults, policies and what
Kubernetes itself checks. Namespaces that are not among the files are assumed. Webhooks are not called.
An object that the files have twice is a warning. Exit status 0: everything would be taken; 1: there are errors;
2: it could not be tried, or there is no object.

Flags:
${flagLines(FLAGS)}
`;

/** @throws {RangeError} with one line */
export function parseValidateOptions(args: readonly string[]): ValidateOptions {
  const short = { "-f": "filename", "-o": "output" } as const;
  const given = parseFlags(args, FLAGS, short, { takesWords: true });
  const paths = [...given.all("filename"), ...given.words];
  if (paths.length === 0) throw new RangeError("--filename must be given");
  const kubernetes = given.last("kubernetes")?.replace(/^v(?=1\.)/, "");
  if (kubernetes !== undefined && !isKnown(kubernetes)) {
    throw new RangeError(`--kubernetes: ${JSON.stringify(kubernetes)} is none of ${RELEASES}`);
  }
  return {
    paths,
    output: oneOf("output", REPORT_FORMS, given.last("output")) ?? "text",
    unknownKinds:
      oneOf("unknown-kinds", ["refuse", "skip"], given.last("unknown-kinds")) ?? "refuse",
    kubernetes,
  };
}

function isKnown(text: string): boolean {
  const release = parseRelease(text);
  if (release === undefined) return false;
  return (
    compareReleases(release, OLDEST_RELEASE) >= 0 && compareReleases(release, API_RELEASE) <= 0
  );
}
