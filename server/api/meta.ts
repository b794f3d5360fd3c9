/**
 * The shapes that every API object shares. Objects are plain JSON values; only metadata has fields
 * that generic code reads.
 *
 * Numbers: integers beyond 2^53 are bigint, everything else is number (S1-VER-09); see codec/json.ts.
 */

export type JsonValue = null | boolean | number | bigint | string | JsonArray | JsonObject;
export type JsonArray = JsonValue[];
export type JsonObject = { [key: string]: JsonValue | undefined };

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: JsonObject[];
}

/** Any API object after decoding: kind, apiVersion and metadata are there, the rest is its type's. */
export interface ApiObject {
  kind: string;
  apiVersion: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}
