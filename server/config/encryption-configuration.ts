/**
 * Reads the EncryptionConfiguration of --encryption-provider-config into rules. The file's form, what it
 * is refused for, and the bytes that stored values begin with are those of existing clusters. No message
 * quotes a secret.
 */
import { parseDocument } from "yaml";
import {
  type EncryptionRule,
  EncryptionRules,
  type PartitionPattern,
} from "../../storage/encryption/encryption-rules.js";
import {
  type CipherName,
  createCipher,
  identityCipher,
  SECRET_BYTES,
  type ValueCipher,
} from "../../storage/encryption/value-cipher.js";
import type { Naming } from "../api/naming.js";

/** Aliases of a file could multiply it; a file of keys has none. */
const ALIASES_MAX = 0;

type Json = Readonly<Record<string, unknown>>;

/** @throws {Error} one line that says where the file is wrong */
export function parseEncryptionConfiguration(text: string, naming: Naming): EncryptionRules {
  const root = readDocument(text);
  const version = `apiserver.config.${naming.groupDomain}/v1`;
  onlyFields(root, ["apiVersion", "kind", "resources"], "the configuration");
  if (root.apiVersion !== version || root.kind !== "EncryptionConfiguration") {
    throw new Error(`expected kind EncryptionConfiguration of ${version}`);
  }
  const entries = listOf(root.resources, "resources");
  if (entries.length === 0) throw new Error("resources: at least one is needed");
  const seen: PartitionPattern[] = [];
  const rules = entries.map((entry, index): EncryptionRule => {
    const path = `resources[${index}]`;
    const fields = record(entry, path);
    onlyFields(fields, ["resources", "providers"], path);
    const patterns = readPatterns(fields.resources, `${path}.resources`, seen);
    const ciphers = readProviders(fields.providers, `${path}.providers`, naming);
    return { patterns, ciphers };
  });
  return new EncryptionRules(rules, identityCipher(naming.encryptionPrefix));
}

function readDocument(text: string): Json {
  const document = parseDocument(text, { uniqueKeys: true });
  const [error] = document.errors;
  // Messages of the parser quote the line, which may be the one with the key.
  if (error !== undefined)
    throw new Error(`not YAML: ${error.code} in line ${error.linePos?.[0].line ?? "?"}`);
  try {
    return record(document.toJS({ maxAliasCount: ALIASES_MAX }), "the configuration");
  } catch (cause) {
    if (cause instanceof ReferenceError) throw new Error("aliases are not allowed");
    throw cause;
  }
}

/** "secrets", "deployments.apps", "*." (all without a group), "*.apps", "*.*". */
function readPatterns(
  value: unknown,
  path: string,
  seen: PartitionPattern[],
): readonly PartitionPattern[] {
  const names = listOf(value, path);
  if (names.length === 0) throw new Error(`${path}: at least one is needed`);
  return names.map((name, index) => {
    const at = `${path}[${index}]`;
    if (typeof name !== "string" || name === "") throw new Error(`${at}: a resource is needed`);
    if (name !== name.toLowerCase())
      throw new Error(`${at}: capital letters are not allowed in ${name}`);
    if (name === "*")
      throw new Error(`${at}: use "*." for resources without a group, or "*.*" for all`);
    const dot = name.indexOf(".");
    const resource = dot < 0 ? name : name.slice(0, dot);
    const group = dot < 0 || dot === name.length - 1 ? "core" : name.slice(dot + 1);
    if (resource.includes("*") && resource !== "*")
      throw new Error(`${at}: ${name} is no resource`);
    if (group === "*" && resource !== "*") throw new Error(`${at}: ${name} is no resource`);
    const pattern = { group, resource };
    const before = seen.find((other) => covers(other, pattern));
    if (before !== undefined) throw new Error(`${at}: ${name} is covered by an earlier entry`);
    seen.push(pattern);
    return pattern;
  });
}

function covers(general: PartitionPattern, { group, resource }: PartitionPattern): boolean {
  return (
    (general.group === "*" || general.group === group) &&
    (general.resource === "*" || general.resource === resource)
  );
}

function readProviders(value: unknown, path: string, naming: Naming): readonly ValueCipher[] {
  const providers = listOf(value, path);
  if (providers.length === 0) throw new Error(`${path}: at least one is needed`);
  return providers.flatMap((provider, index) => {
    const at = `${path}[${index}]`;
    const entries = Object.entries(record(provider, at));
    const [entry, ...others] = entries;
    if (entry === undefined || others.length > 0) {
      throw new Error(`${at}: exactly one provider is needed`);
    }
    const [name, settings] = entry;
    if (name === "identity") return [identityCipher(naming.encryptionPrefix)];
    if (name === "kms") {
      throw new Error(
        `${at}.kms: key management services are not supported; use aesgcm, aescbc or secretbox`,
      );
    }
    if (!isCipherName(name)) throw new Error(`${at}: there is no provider ${name}`);
    return readKeys(name, settings, `${at}.${name}`, naming);
  });
}

function isCipherName(name: string): name is CipherName {
  return Object.hasOwn(SECRET_BYTES, name);
}

function readKeys(
  cipher: CipherName,
  settings: unknown,
  path: string,
  naming: Naming,
): readonly ValueCipher[] {
  const fields = record(settings, path);
  onlyFields(fields, ["keys"], path);
  const keys = listOf(fields.keys, `${path}.keys`);
  if (keys.length === 0) throw new Error(`${path}.keys: at least one is needed`);
  const names = new Set<string>();
  return keys.map((value, index) => {
    const at = `${path}.keys[${index}]`;
    const key = record(value, at);
    onlyFields(key, ["name", "secret"], at);
    const { name, secret } = key;
    if (typeof name !== "string" || name === "") throw new Error(`${at}.name: a name is needed`);
    if (name.includes(":")) throw new Error(`${at}.name: a colon is not allowed`);
    if (names.has(name)) throw new Error(`${at}.name: ${name} is there twice`);
    names.add(name);
    const bytes = readSecret(secret, SECRET_BYTES[cipher], `${at}.secret`);
    const prefix = Buffer.from(`${naming.encryptionPrefix}${cipher}:v1:${name}:`, "utf8");
    return createCipher(cipher, prefix, bytes);
  });
}

const BASE64 = /^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/;

function readSecret(secret: unknown, lengths: readonly number[], path: string): Buffer {
  if (typeof secret !== "string" || secret === "") throw new Error(`${path}: a secret is needed`);
  if (!BASE64.test(secret)) throw new Error(`${path}: must be base64`);
  const bytes = Buffer.from(secret, "base64");
  if (lengths.includes(bytes.length)) return bytes;
  const expected = lengths.length === 1 ? `${lengths[0]}` : `one of ${lengths.join(", ")}`;
  throw new Error(`${path}: must have ${expected} bytes, has ${bytes.length}`);
}

function record(value: unknown, path: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new Error(`${path}: must be an object`);
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`${path}: must be a list`);
}

function onlyFields(value: Json, fields: readonly string[], path: string): void {
  const other = Object.keys(value).find((field) => !fields.includes(field));
  if (other !== undefined) throw new Error(`${path}: unknown field ${JSON.stringify(other)}`);
}
