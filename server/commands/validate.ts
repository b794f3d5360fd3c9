/**
 * `keelson validate`: whether manifests would be taken. A fresh API in this process gets what the others depend on or
 * are judged by; the others are dry runs on it.
 *
 *   applied    namespaces, definitions, classes, limits and quotas, parameters of policies, policies
 *   tried      all other objects, and webhook configurations, whose servers are not there
 */
import { randomUUID } from "node:crypto";
import { addAbortSignal } from "node:stream";
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { ValidateOptions } from "../config/validate-options.js";
import { AdminHere } from "../fresh-api/admin-client.js";
import { startHere } from "../fresh-api/api-here.js";
import { Applier, isDefinition } from "../fresh-api/applier.js";
import { type PlacedObject, readManifests } from "../fresh-api/manifests.js";
import { formatReport } from "./format-report.js";
import type { Finding, Report } from "./report.js";

const AT_ONCE = 16;
const MESSAGE_CHARS_MAX = 4_000;
/** What a chart renders is longer than a file by hand. */
const STDIN_BYTES_MAX = 32 * 1024 * 1024;

/** In their order. */
const APPLIED: readonly RegExp[] = [
  /^Namespace$/,
  /^CustomResourceDefinition$/,
  /^(?:Priority|Runtime|Storage|Ingress|Volume\w*|Device)Class$/,
  /^(?:LimitRange|ResourceQuota)$/,
];
const POLICIES = [/^(?:Validating|Mutating)AdmissionPolicy$/, /AdmissionPolicyBinding$/];

/** Expressions of policies ask for the rights of others. */
const OWN_GROUPS = /^(?:flowcontrol|apiregistration|admissionregistration)\./;
const OWN_ROLES = /^(?:system:|(?:cluster-admin|admin|edit|view)$)/;

/** Rights, accounts and the range of addresses are of the cluster that the manifests are for. */
const FLAGS = {
  "service-cluster-ip-range": "0.0.0.0/0,::/0",
  "run-controllers": false,
  "disable-admission-plugins": "ServiceAccount",
  "enable-test-api": false,
};
/** As kubeconfigs of a fresh API have it; from within the process it shows a token, not a certificate. */
const ADMINISTRATOR = { name: "kubernetes-admin", groups: ["system:masters"] };

/** @throws {Error} it cannot be tried, in one line */
export async function validate(
  options: ValidateOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const findings: Finding[] = [];
  const objects = await readManifests(options.paths, {
    onProblem: (place, message, line) => {
      findings.push({ place, line, object: "", level: "error", message });
    },
    readStandardInput: () => readStandardInput(signal),
    takesGeneratedNames: true,
  });
  if (objects.length === 0 && findings.length === 0) {
    throw new Error(`there is no object in ${options.paths.join(", ")}`);
  }
  const release = options.kubernetes && { "emulated-version": `kube=${options.kubernetes}` };
  const token = randomUUID();
  const api = await startHere({
    options: { flags: { ...FLAGS, ...release }, users: [ADMINISTRATOR] },
    tokens: [[ADMINISTRATOR.name, token]],
    isBrief: !objects.some(mayMeetOwnObject),
  });
  try {
    const client = new AdminHere(api.handle, token, "keelson-manifests");
    const tried = await new Validation(new Applier(client, signal), options, findings).run(objects);
    const looked = objects.map((object) => ({ place: object.place, object: nameOf(object) }));
    const inOrder = [...tried.findings].sort((a, b) => ORDER.compare(idOf(a), idOf(b)));
    const report = { objects: looked, ...tried, findings: inOrder };
    const isRefused = report.findings.some(({ level }) => level === "error");
    return { output: formatReport(report, options.output), exitCode: isRefused ? 1 : 0 };
  } finally {
    await api.stop();
  }
}

/** Many are tried at once, and answers come as they like. */
const ORDER = new Intl.Collator("en", { numeric: true });

function idOf({ place, object }: Finding): string {
  return `${place}\n${object}`;
}

/** @throws {Error} */
async function readStandardInput(signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of addAbortSignal(signal, process.stdin)) {
    bytes += piece.length;
    if (bytes > STDIN_BYTES_MAX) {
      throw new Error(`manifests: standard input: more than ${STDIN_BYTES_MAX} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

class Validation {
  readonly #applier: Applier;
  readonly #options: ValidateOptions;
  readonly #findings: Finding[];
  #skipped = 0;

  constructor(applier: Applier, options: ValidateOptions, findings: Finding[]) {
    this.#applier = applier;
    this.#options = options;
    this.#findings = findings;
  }

  async run(objects: readonly PlacedObject[]): Promise<Pick<Report, "findings" | "skipped">> {
    for (const object of objects) {
      for (const message of object.duplicates) this.#note(object, "error", message);
    }
    this.#noteTwins(objects);
    const parameters = parameterKinds(objects);
    const isParameter = ({ apiVersion, kind }: PlacedObject) =>
      parameters.has(`${apiVersion}/${kind}`);
    const groups: ((object: PlacedObject) => boolean)[] = [
      ...APPLIED.map(
        (pattern) =>
          ({ kind }: PlacedObject) =>
            pattern.test(kind),
      ),
      isParameter,
      ...POLICIES.map(
        (pattern) =>
          ({ kind }: PlacedObject) =>
            pattern.test(kind),
      ),
    ];
    let left = objects;
    await this.#makeNamespaces(objects);
    for (const belongs of groups) {
      const group = left.filter(belongs);
      left = left.filter((object) => !belongs(object));
      await this.#forEach(group, (object) => this.#apply(object));
      this.#applier.forgetKinds();
    }
    await this.#forEach(left, (object) => this.#try(object));
    return { findings: this.#findings, skipped: this.#skipped };
  }

  /** Of two, the one that is applied later is what stays, and which that is the files do not say. */
  #noteTwins(objects: readonly PlacedObject[]): void {
    const places = new Map<string, string>();
    for (const object of objects) {
      const { apiVersion, kind, place } = object;
      if (isNameGenerated(object)) continue;
      const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
      const namespace = object.namespace || "default";
      const id = JSON.stringify([group, kind, namespace, object.name]);
      const earlier = places.get(id);
      if (earlier === undefined) places.set(id, place);
      else this.#note(object, "warning", `is in ${earlier} as well`);
    }
  }

  /** Those that objects name; the files need not have them. */
  async #makeNamespaces(objects: readonly PlacedObject[]): Promise<void> {
    const names = new Set(objects.map(({ namespace }) => namespace));
    for (const { kind, name } of objects) if (kind === "Namespace") names.delete(name);
    names.delete("");
    await this.#forEach([...names], async (name) => {
      const object: JsonObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      const written = { apiVersion: "v1", kind: "Namespace", name, namespace: "", object };
      // A name that cannot be one is told of the objects in it.
      await this.#applier.apply({ ...written, place: "", line: 1, duplicates: [] });
    });
  }

  async #apply(object: PlacedObject): Promise<void> {
    const answer = await this.#try(object);
    if (answer !== "taken") return;
    const hindrance = await this.#applier.apply(
      isDefinition(object) ? unconverted(object) : object,
    );
    if (hindrance !== undefined) this.#note(object, "error", hindrance.reason);
  }

  async #try(object: PlacedObject): Promise<"taken" | "refused"> {
    try {
      const answer = await this.#applier.dryRun(object);
      if (!("status" in answer)) {
        if (!answer.isFinal && this.#options.unknownKinds === "skip") this.#skipped++;
        else this.#note(object, "error", answer.reason);
        return "refused";
      }
      for (const warning of answer.warnings) this.#note(object, "warning", warning);
      if (answer.status < 300) return "taken";
      this.#note(object, "error", String(answer.value.message ?? `refused (${answer.status})`));
    } catch (error) {
      this.#note(object, "error", oneLine(error));
    }
    return "refused";
  }

  async #forEach<T>(items: readonly T[], run: (item: T) => Promise<unknown>): Promise<void> {
    const rest = items.values();
    const worker = async () => {
      for (const item of rest) await run(item);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  #note(object: PlacedObject, level: Finding["level"], message: string): void {
    const text = oneLine(message).slice(0, MESSAGE_CHARS_MAX);
    const { place, line } = object;
    this.#findings.push({ place, line, object: nameOf(object), level, message: text });
  }
}

/**
 * What an object may be judged by, or change, among the objects that a server makes itself: default roles, levels of
 * priority, and the like. To make them takes longer than to judge a hundred objects.
 */
function mayMeetOwnObject({ apiVersion, namespace, name }: PlacedObject): boolean {
  const [group = ""] = apiVersion.split("/");
  if (OWN_GROUPS.test(group) || namespace.startsWith("kube-")) return true;
  return group.startsWith("rbac.") && OWN_ROLES.test(name);
}

function isNameGenerated({ object }: PlacedObject): boolean {
  return membersOf(object.metadata).generateName !== undefined;
}

function nameOf({ kind, namespace, name }: PlacedObject): string {
  return `${kind} ${namespace === "" ? name : `${namespace}/${name}`}`;
}

/** What policies take parameters from: "v1/ConfigMap". */
function parameterKinds(objects: readonly PlacedObject[]): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (const { kind, object } of objects) {
    if (!kind.endsWith("AdmissionPolicy")) continue;
    const { paramKind } = membersOf(object.spec);
    const { apiVersion, kind: named } = membersOf(paramKind);
    if (typeof apiVersion === "string" && typeof named === "string") {
      kinds.add(`${apiVersion}/${named}`);
    }
  }
  return kinds;
}

/** Objects of every version are judged by its own schema; the converter is not there. */
function unconverted(definition: PlacedObject): PlacedObject {
  const { conversion: _, ...spec } = membersOf(definition.object.spec);
  return { ...definition, object: { ...definition.object, spec } };
}

function membersOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
