/** Strategies of ConfigMap and Secret: `immutable` cannot be unset, `stringData` is write-only. */

import { deepEqual } from "../../api/deep-equal.js";
import {
  forbiddenField,
  invalidValue,
  requiredValue,
  tooLongValue,
} from "../../api/field-errors.js";
import { eachMember, type RuleUse } from "../../api/long-work.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";
import { checkConfigKey, type Maybe } from "../../api/validation-values.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";
import { selectable } from "../generic/fields.js";
import { checkImmutable } from "../generic/status-parts.js";
import { validated } from "../generic/validated.js";
import { secretWarnings } from "./secret-warnings.js";

const WHEN_IMMUTABLE = "field is immutable when `immutable` is set";
/** The path that kube-apiserver gives for problems of no single field. */
const WHOLE_OBJECT = "[]";
/** Limit for all values together; keys are not counted. */
const DATA_BYTES_MAX = 1024 * 1024;
/** UTF-8 needs at most this many bytes for one JavaScript character. */
const BYTES_PER_CHAR_MAX = 3;

type Data = Readonly<Record<string, string>>;

interface ConfigMapObject extends ApiObject {
  data?: Maybe<Data>;
  binaryData?: Maybe<Data>;
}

export const configMapStrategy: ResourceStrategy = validated<ConfigMapObject>({
  object({ data, binaryData }, { long }) {
    const errors = new Problems();
    const use = { errors, long };
    validateKeys(data, "data", use);
    for (const key in data) {
      if (!binaryData || !Object.hasOwn(binaryData, key)) continue;
      const why = "duplicate of key present in binaryData";
      errors.push(invalidValue(`data[${key}]`, key, why));
    }
    validateKeys(binaryData, "binaryData", use);
    if (textBytes(data) + base64Bytes(binaryData) > DATA_BYTES_MAX) {
      errors.push(tooLongValue(WHOLE_OBJECT, DATA_BYTES_MAX));
    }
    return errors;
  },
  change: (next, current) => checkFrozen(next, current, ["data", "binaryData"]),
});

function validateKeys(data: Maybe<Data>, field: string, use: RuleUse): void {
  eachMember(data ?? {}, use, (key, _value, errors) => {
    for (const why of checkConfigKey(key)) {
      errors.push(invalidValue(`${field}[${key}]`, key, why));
    }
  });
}

/** Bytes of all values; or as many as there are at least, or at most, where that decides. */
function textBytes(data: Maybe<Data>): number {
  let chars = 0;
  for (const key in data) chars += data[key]?.length ?? 0;
  if (chars * BYTES_PER_CHAR_MAX <= DATA_BYTES_MAX) return chars;
  if (chars > DATA_BYTES_MAX) return chars;
  let bytes = 0;
  for (const key in data) bytes += Buffer.byteLength(data[key] ?? "");
  return bytes;
}

function base64Bytes(data: Maybe<Data>): number {
  let bytes = 0;
  for (const key in data) bytes += Buffer.byteLength(data[key] ?? "", "base64");
  return bytes;
}

interface SecretObject extends ApiObject {
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: string;
}

function validateSecret(
  { metadata, data, type = "" }: SecretObject,
  { naming, long }: StrategyContext,
): FieldError[] {
  const errors = new Problems();
  validateKeys(data, "data", { errors, long });
  if (base64Bytes(data) > DATA_BYTES_MAX) errors.push(tooLongValue("data", DATA_BYTES_MAX));
  const { labelDomain } = naming;
  if (!type.startsWith(`${labelDomain}/`)) return errors;
  const require = (key: string) => errors.push(requiredValue(`data[${key}]`));
  const has = (key: string) => data !== undefined && Object.hasOwn(data, key);
  switch (type.slice(labelDomain.length + 1)) {
    case "service-account-token": {
      const annotation = `${labelDomain}/service-account.name`;
      if ((metadata.annotations?.[annotation] ?? "") === "") {
        errors.push(requiredValue(`metadata.annotations[${annotation}]`));
      }
      break;
    }
    case "dockercfg":
      validateJson(data, ".dockercfg", errors);
      break;
    case "dockerconfigjson":
      validateJson(data, ".dockerconfigjson", errors);
      break;
    case "basic-auth":
      // Either may be empty or missing, but not both missing.
      if (!has("username") && !has("password")) {
        require("username");
        require("password");
      }
      break;
    case "ssh-auth":
      if ((data?.["ssh-privatekey"] ?? "") === "") require("ssh-privatekey");
      break;
    case "tls":
      for (const key of ["tls.crt", "tls.key"]) if (!has(key)) require(key);
      break;
  }
  return errors;
}

function validateJson(data: Data | undefined, key: string, errors: FieldError[]): void {
  const field = `data[${key}]`;
  const text = data?.[key];
  if (text === undefined) {
    errors.push(requiredValue(field));
    return;
  }
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
    if (typeof value === "object" && !Array.isArray(value)) return;
    errors.push(invalidValue(field, "<secret contents redacted>", "must be a JSON object"));
  } catch {
    // The parser's own message would quote the content.
    errors.push(invalidValue(field, "<secret contents redacted>", "must be valid JSON"));
  }
}

export const secretStrategy: ResourceStrategy = {
  prepareForAdmission: (next: SecretObject) => takeStringData(next),
  // What a plugin wrote.
  prepareForCreate: (next: SecretObject) => takeStringData(next),
  prepareForUpdate: (next: SecretObject) => takeStringData(next),
  ...validated<SecretObject>({
    object: validateSecret,
    change: (next, current) => [
      ...checkImmutable(next, current, ["type"]),
      ...checkFrozen(next, current, ["data"]),
    ],
  }),
  warnings: secretWarnings,
  ...selectable(["type"]),
};

/** `stringData` spares clients the base64 encoding; it is never returned. */
function takeStringData(secret: SecretObject): void {
  const { stringData } = secret;
  if (stringData === undefined || stringData === null) return;
  const data = { ...secret.data };
  for (const key in stringData) {
    data[key] = Buffer.from(stringData[key] ?? "", "utf8").toString("base64");
  }
  secret.data = data;
  delete secret.stringData;
}

function checkFrozen(next: ApiObject, current: ApiObject, fields: readonly string[]): FieldError[] {
  if (current.immutable !== true) return [];
  const changed = fields.filter((field) => !isSameMap(next[field], current[field]));
  if (next.immutable !== true) changed.unshift("immutable");
  return changed.map((field) => forbiddenField(field, WHEN_IMMUTABLE));
}

/** A missing map equals an empty one. */
function isSameMap(a: unknown, b: unknown): boolean {
  return deepEqual(a ?? {}, b ?? {});
}
