/**
 * `keelson validate`: whether manifests would be taken. A fresh API in this process gets what the others depend on or
 * are judged by; the others are dry runs on it.
 *
 *   applied    namespaces, definitions, classes, limits and quotas, parameters of policies, policies
 *   tried      all other objects, and webhook configurations, whose servers are not there
 */
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { ValidateOptions } from "../config/validate-options.js";
import { startHere } from "../fresh-api/api-here.js";
import { Applier, isDefinition } from "../fresh-api/applier.js";
import { type PlacedObject, readManifests } from "../fresh-api/manifests.js";
import { formatReport } from "./format-report.js";
import type { Finding, Report } from "./report.js";

const AT_ONCE = 16;
const MESSAGE_CHARS_MAX = 4_000;

/** In their order. */
const APPLIED: readonly RegExp[] = [
  /^Namespace$/,
  /^CustomResourceDefinition$/,
  /^(?:Priority|Runtime|Storage|Ingress|Volume\w*|Device)Class$/,
  /^(?:LimitRange|ResourceQuota)$/,
];
const POLICIES = [/^(?:Validating|Mutating)AdmissionPolicy$/, /AdmissionPolicyBinding$/];

/** Rights and accounts are of the cluster that the manifests are for. */
const FLAGS = { "run-controllers": false, "disable-admission-plugins": "ServiceAccount" };

/** @throws {Error} it cannot be tried, in one line */
export async function validate(
  options: ValidateOptions,
  signal: AbortSignal,
): Promise<{ readonly output: string; readonly exitCode: number }> {
  const findings: Finding[] = [];
  const objects = await readManifests(options.paths, (place, message) => {
    findings.push({ place, object: "", level: "error", message });
  });
  const release = options.kubernetes && { "emulated-version": `kube=${options.kubernetes}` };
  const api = await startHere({ options: { flags: { ...FLAGS, ...release } }, tokens: [] });
  try {
    const applier = new Applier(api.access, signal);
    try {
      const tried = await new Validation(applier, options, findings).run(objects);
      const looked = objects.map((object) => ({ place: object.place, object: nameOf(object) }));
      const report = { objects: looked, ...tried };
      const isRefused = report.findings.some(({ level }) => level === "error");
      return { output: formatReport(report, options.output), exitCode: isRefused ? 1 : 0 };
    } finally {
      applier.close();
    }
  } finally {
    await api.stop();
  }
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

  /** Those that objects name; the files need not have them. */
  async #makeNamespaces(objects: readonly PlacedObject[]): Promise<void> {
    const names = new Set(objects.map(({ namespace }) => namespace));
    for (const { kind, name } of objects) if (kind === "Namespace") names.delete(name);
    names.delete("");
    await this.#forEach([...names], async (name) => {
      const object: JsonObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      const written = { apiVersion: "v1", kind: "Namespace", name, namespace: "", object };
      // A name that cannot be one is told of the objects in it.
      await this.#applier.apply({ ...written, place: "", duplicates: [] });
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
    this.#findings.push({ place: object.place, object: nameOf(object), level, message: text });
  }
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
