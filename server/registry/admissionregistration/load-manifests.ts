/**
 * Rules from files: reads all manifests of one plugin's directory and makes the objects that the API would
 * have stored: decoded strictly, with defaults, validated by the same rules and by those for files alone.
 * Such rules work without the API: a webhook has a URL, a policy has no parameters, and a binding names a
 * policy of the same directory.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { RulePlugin } from "../../admission/static/admission-configuration.js";
import { staticSuffix } from "../../admission/static/reserved-names.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { invalid } from "../../api/status.js";
import { validateMetadata } from "../../api/validation-metadata.js";
import { parseYaml } from "../../codec/yaml.js";
import { splitYamlDocuments } from "../../codec/yaml-documents.js";
import type { Catalog } from "../../kinds/catalog.js";
import type { MainResource } from "../../kinds/served-resource.js";
import { SERVER_USER } from "../../request/user-info.js";
import { decodeInput } from "../generic/decode-input.js";

/** Rules by resource, sorted by name. */
export type Manifests = ReadonlyMap<string, readonly ApiObject[]>;

export interface ManifestFiles {
  /** Non-empty files, sorted by name. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** "sha256:..." of all files; "" = there are none. */
  readonly hash: string;
}

export interface ManifestSurroundings {
  readonly naming: Naming;
  readonly catalog: Catalog;
  readonly nowMs: number;
}

/** The resources that each plugin's directory may hold. */
const RESOURCES: Readonly<Record<RulePlugin, readonly string[]>> = {
  MutatingAdmissionPolicy: ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"],
  MutatingAdmissionWebhook: ["mutatingwebhookconfigurations"],
  ValidatingAdmissionPolicy: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
  ValidatingAdmissionWebhook: ["validatingwebhookconfigurations"],
};

const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);
/** Limit for all files of a directory together. */
const BYTES_MAX = 16 * 1024 * 1024;

/** @throws {Error} one line that names the file */
export function parseManifests(
  plugin: RulePlugin,
  { files }: ManifestFiles,
  surroundings: ManifestSurroundings,
): Manifests {
  const loader = new ManifestLoader(plugin, surroundings);
  for (const { path, text } of files) {
    for (const document of splitYamlDocuments(text)) {
      try {
        loader.add(document, path);
      } catch (error) {
        const why = (error as Error).message.replace(/\s+/g, " ");
        throw new Error(`error loading ${path}: ${why}`, { cause: error });
      }
    }
  }
  return loader.finish();
}

/** @throws {Error} */
export async function readManifests(directory: string): Promise<ManifestFiles> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.isDirectory() && EXTENSIONS.has(extname(entry.name).toLowerCase()))
    .map(({ name }) => name)
    .sort();
  const files: ManifestFiles["files"][number][] = [];
  let left = BYTES_MAX;
  for (const name of names) {
    const path = join(directory, name);
    const text = await readFile(path, "utf8");
    left -= text.length;
    if (left < 0) throw new Error(`${directory} holds more than ${BYTES_MAX} bytes of manifests`);
    if (text !== "") files.push({ path, text });
  }
  const hash = createHash("sha256");
  for (const { text } of files) hash.update(text).update("\0");
  return { files, hash: files.length === 0 ? "" : `sha256:${hash.digest("hex")}` };
}

class ManifestLoader {
  readonly #plugin: RulePlugin;
  readonly #surroundings: ManifestSurroundings;
  readonly #resources: readonly MainResource[];
  readonly #found = new Map<string, ApiObject[]>();
  /** File by resource and name. */
  readonly #seen = new Map<string, string>();

  constructor(plugin: RulePlugin, surroundings: ManifestSurroundings) {
    const { naming, catalog } = surroundings;
    this.#plugin = plugin;
    this.#surroundings = surroundings;
    this.#resources = RESOURCES[plugin].flatMap((resource) => {
      const group = `admissionregistration.${naming.groupDomain}`;
      const found = catalog.findMain(group, "v1", resource);
      return found === undefined ? [] : [found];
    });
  }

  /** @throws {Error} */
  add(text: string, path: string): void {
    const parsed = parseYaml(text);
    const { value } = parsed;
    if (isList(value)) {
      const items = value.items ?? [];
      if (!Array.isArray(items)) throw new Error("items: expected a list");
      for (const item of items) this.#take({ ...parsed, value: item, duplicateFields: [] }, path);
      if (parsed.duplicateFields.length > 0) throw new Error(parsed.repeatedKeys.join(", "));
    } else {
      this.#take(parsed, path);
    }
  }

  /** @throws {Error} a binding names no policy of the directory */
  finish(): Manifests {
    for (const objects of this.#found.values()) {
      objects.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    }
    for (const [resource, objects] of this.#found) {
      if (!resource.endsWith("bindings")) continue;
      const policies = this.#found.get(`${resource.slice(0, -"ybindings".length)}ies`) ?? [];
      const known = new Set(policies.map(nameOf));
      for (const binding of objects) {
        const { policyName } = specOf(binding);
        if (known.has(policyName ?? "")) continue;
        throw new Error(
          `binding ${quoted(nameOf(binding))} references policy ${quoted(policyName)} which does not exist in the manifest directory`,
        );
      }
    }
    return this.#found;
  }

  #take(input: ReturnType<typeof parseYaml>, path: string): void {
    const { apiVersion, kind } = (input.value ?? {}) as JsonObject;
    const resource = this.#resources.find(
      (one) => one.kind === kind && apiVersion === `${one.group}/${one.version}`,
    );
    if (resource === undefined) {
      throw new Error(
        `unsupported resource type ${String(apiVersion)}, Kind=${String(kind)} for ${this.#plugin}`,
      );
    }
    const object = this.#objectOf(resource, input);
    this.#checkName(resource, nameOf(object), path);
    checkIsolation(resource, object, staticSuffix(this.#surroundings.naming));
    const objects = this.#found.get(resource.resource);
    if (objects === undefined) this.#found.set(resource.resource, [object]);
    else objects.push(object);
  }

  /** The object as a create would store it. @throws {StatusError} 400, 422 */
  #objectOf(resource: MainResource, input: ReturnType<typeof parseYaml>): ApiObject {
    const { naming, nowMs } = this.#surroundings;
    const options = { fieldValidation: "Strict", warn() {} } as const;
    const object = decodeInput(resource, input, options);
    const context = { nowMs, subresource: "", naming, user: SERVER_USER };
    const { codec, strategy, isNamespaced } = resource;
    const problems = codec.validate(object);
    strategy.prepareForCreate?.(object, context);
    const metadata = validateMetadata(object.metadata, {
      isNamespaced,
      checkName: strategy.validateName,
      namespaceFinalizer: naming.namespaceFinalizer,
    });
    const all = [...problems, ...metadata, ...(strategy.validate?.(object, context) ?? [])];
    if (all.length > 0) throw invalid(resource, nameOf(object), all);
    return object;
  }

  #checkName({ resource }: MainResource, name: string, path: string): void {
    const suffix = staticSuffix(this.#surroundings.naming);
    if (!name.endsWith(suffix)) {
      throw new Error(`object name ${quoted(name)} must end with ${quoted(suffix)}`);
    }
    const key = `${resource}/${name}`;
    const other = this.#seen.get(key);
    if (other !== undefined) {
      throw new Error(`duplicate object name ${quoted(name)}, which is also in ${other}`);
    }
    this.#seen.set(key, path);
  }
}

interface RuleSpec {
  readonly policyName?: string;
  readonly paramKind?: unknown;
  readonly paramRef?: unknown;
}

/** @throws {Error} the object depends on the API */
function checkIsolation({ kind, resource }: MainResource, object: ApiObject, suffix: string): void {
  const name = quoted(nameOf(object));
  const { policyName = "", paramKind, paramRef } = specOf(object);
  if (resource.endsWith("webhookconfigurations")) {
    for (const { name: webhook, clientConfig } of webhooksOf(object)) {
      const which = `webhook ${quoted(webhook)} in ${name}`;
      if (clientConfig?.service) {
        throw new Error(
          `${which}: clientConfig.service is not supported for static manifests; use clientConfig.url instead`,
        );
      }
      if (!clientConfig?.url) {
        throw new Error(`${which}: clientConfig.url is required for static manifests`);
      }
    }
  } else if (resource.endsWith("bindings")) {
    if (!policyName.endsWith(suffix)) {
      const named = quoted(policyName);
      throw new Error(`binding ${name}: spec.policyName ${named} must end with ${quoted(suffix)}`);
    }
    if (paramRef) {
      throw new Error(`binding ${name}: spec.paramRef is not supported for static manifests`);
    }
  } else if (paramKind) {
    throw new Error(`${kind} ${name}: spec.paramKind is not supported for static manifests`);
  }
}

function webhooksOf(object: ApiObject) {
  const { webhooks } = object as unknown as {
    readonly webhooks?: readonly {
      readonly name: string;
      readonly clientConfig?: { readonly url?: string | null; readonly service?: unknown };
    }[];
  };
  return webhooks ?? [];
}

function specOf(object: ApiObject): RuleSpec {
  return ((object as unknown as { spec?: RuleSpec }).spec ?? {}) as RuleSpec;
}

function nameOf({ metadata }: ApiObject): string {
  return metadata.name ?? "";
}

function isList(value: JsonValue): value is JsonObject {
  const { apiVersion, kind } = (value ?? {}) as JsonObject;
  return apiVersion === "v1" && kind === "List";
}

function quoted(text: string | undefined): string {
  return JSON.stringify(text ?? "");
}
