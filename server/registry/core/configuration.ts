/** Strategies of ConfigMap and Secret: `immutable` is a one-way street, `stringData` is only read. */

import { deepEqual } from "../../api/deep-equal.js";
import { forbiddenField } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { selectable } from "../generic/fields.js";
import type { ResourceStrategy } from "../generic/served-resource.js";
import { checkImmutable } from "../generic/status-parts.js";

const WHEN_IMMUTABLE = "field is immutable when `immutable` is set";

export const configMapStrategy: ResourceStrategy = {
  validateUpdate: (next, current) => checkFrozen(next, current, ["data", "binaryData"]),
};

interface SecretObject extends ApiObject {
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  type?: string;
}

export const secretStrategy: ResourceStrategy = {
  prepareForCreate: (next: SecretObject) => takeStringData(next),
  prepareForUpdate: (next: SecretObject) => takeStringData(next),
  validateUpdate: (next, current) => [
    ...checkImmutable(next, current, ["type"]),
    ...checkFrozen(next, current, ["data"]),
  ],
  ...selectable(["type"]),
};

/** Text that a client finds easier to write than base64; it is never given back. */
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

/** No map at all is as good as an empty one. */
function isSameMap(a: unknown, b: unknown): boolean {
  return deepEqual(a ?? {}, b ?? {});
}
