/**
 * What is asked: data, in campaigns. Nothing is kept of what is asked but the objects of `furnish`, one of each
 * kind: all other writes are dry runs, so that the order of questions means nothing.
 */

import { createNaming } from "../../server/api/naming.js";
import { REFUSED } from "../../server/registry/apiextensions/testing/refused-definitions.js";
import type { ResourceFact } from "../../server/schema/model.js";
import { RULE_COSTS } from "../../server/structural/testing/rule-costs.js";
import { loadFacts } from "../../server/types/load-facts.js";
import { type Random, seededRandom } from "../consistency/random.js";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import { MINIMAL_OBJECTS } from "../fixtures/minimal-objects.js";
import {
  annotations,
  CUSTOM_FURNITURE,
  customObjects,
  pairsOfFields,
  resizes,
} from "./more-questions.js";
import { type Change, changed, changesOf, type Json } from "./one-change.js";
import type { Question } from "./question.js";

export interface Campaign {
  readonly name: string;
  readonly questions: readonly Question[];
}

/** The fixtures refer to it. */
export const NAMESPACE = "verbs";
const DRY = "dryRun=All";
const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";
const PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const facts = loadFacts(createNaming("kubernetes"));

/** A kind that is asked about, with its valid object. */
export interface Subject {
  readonly resource: ResourceFact;
  readonly collection: string;
  readonly name: string;
  readonly object: Json;
  readonly status: Json | undefined;
}

export const SUBJECTS: readonly Subject[] = facts.resources.flatMap((resource) => {
  const { group, version, resource: plural, subresource, kind } = resource;
  const minimal = MINIMAL_OBJECTS[group === "" ? plural : `${plural}.${group}`];
  const isAsked = subresource === "" && /^v\d+$/.test(version) && resource.onByDefault;
  if (minimal === undefined || !isAsked) return [];
  const name = minimal.name?.(0) ?? "subject";
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const base = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
  const place = resource.namespaced ? `/namespaces/${NAMESPACE}` : "";
  const metadata = { name, ...(resource.namespaced ? { namespace: NAMESPACE } : {}) };
  const object = { apiVersion, kind, metadata, ...minimal.content, ...minimal.forName?.(name) };
  return [
    { resource, collection: `${base}${place}/${plural}`, name, object, status: minimal.status },
  ];
});

/** Objects that the questions need, in order: namespaces and accounts first. */
export const FURNITURE: readonly Question[] = [
  { method: "POST", path: "/api/v1/namespaces", body: named("v1", "Namespace", NAMESPACE) },
  {
    method: "POST",
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
    body: named("v1", "ServiceAccount", "default"),
  },
  {
    method: "PATCH",
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`,
    // Without a token, whose volume has a random name.
    body: { automountServiceAccountToken: false },
    type: "application/merge-patch+json",
  },
  ...SUBJECTS.map(({ collection, object }) => ({ method: "POST", path: collection, body: object })),
  ...CUSTOM_FURNITURE,
];

function named(apiVersion: string, kind: string, name: string): Json {
  return { apiVersion, kind, metadata: { name } };
}

/** @param share how many of the questions about single fields are asked: 1 = all */
export function campaignsOf(seed: number, share: number): readonly Campaign[] {
  const random = seededRandom(seed);
  return [
    { name: "creates with one change", questions: creates(random, share) },
    { name: "updates with one change", questions: updates(random, share) },
    { name: "statuses with one change", questions: statuses(random, share) },
    { name: "patches and applies", questions: patches() },
    { name: "reads", questions: reads() },
    { name: "deletes", questions: deletes() },
    { name: "reviews", questions: reviews() },
    { name: "errors", questions: errors() },
    { name: "definitions with a mistake", questions: Object.values(REFUSED).map(judged) },
    { name: "rules of definitions", questions: rules() },
    { name: "annotations of pods", questions: annotations() },
    { name: "fields beside each other", questions: pairsOfFields() },
    { name: "resizes of pods", questions: resizes() },
    { name: "custom objects", questions: customObjects() },
  ];
}

/** Each field of the object changed once. */
export function changes(
  { resource, object }: Subject,
  random: Random,
  share: number,
  within: (member: string) => boolean,
): readonly Change[] {
  const type = facts.model.kind(resource.group, resource.version, resource.kind);
  if (type === undefined) throw new Error(`no type of ${resource.kind}`);
  return changesOf(facts.model, type, object, within).filter(() => random.chance(share));
}

const IS_TYPE = new Set(["apiVersion", "kind", "metadata"]);
export const isSpec = (member: string) => !IS_TYPE.has(member) && member !== "status";

function creates(random: Random, share: number): Question[] {
  return SUBJECTS.flatMap((subject) =>
    changes(subject, random, share, isSpec).map((change, index) => ({
      method: "POST",
      path: `${subject.collection}?${DRY}`,
      body: renamed(subject, changed(subject.object, change), index),
    })),
  );
}

/** Whether its status is written by itself. */
export function hasStatus({ resource: { group, version, resource } }: Subject): boolean {
  return facts.resources.some(
    (one) =>
      one.subresource === "status" &&
      one.group === group &&
      one.version === version &&
      one.resource === resource,
  );
}

/** Another name than that of the object that is there; some kinds have names with a meaning. */
export function renamed({ resource, object }: Subject, body: Json, index: number): Json {
  const minimal =
    MINIMAL_OBJECTS[
      resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`
    ];
  if (minimal?.name !== undefined) return body;
  const metadata = object.metadata as Json;
  return { ...body, metadata: { ...metadata, name: `subject-${index}` } };
}

function updates(random: Random, share: number): Question[] {
  return SUBJECTS.filter(({ resource }) => resource.verbs.includes("update")).flatMap((subject) =>
    changes(subject, random, share, isSpec).map((change) => ({
      method: "PUT",
      path: `${subject.collection}/${subject.name}?${DRY}`,
      edit: (stored: Json) => changed(stored, change),
    })),
  );
}

function statuses(random: Random, share: number): Question[] {
  return SUBJECTS.filter(hasStatus).flatMap((subject) => {
    const { status = {} } = subject;
    const whole = { ...subject, object: { ...subject.object, status } };
    return changes(whole, random, share, (member) => member === "status").map((change) => ({
      method: "PUT",
      path: `${subject.collection}/${subject.name}/status?${DRY}`,
      edit: (stored: Json) => changed({ ...stored, status }, change),
    }));
  });
}

const PATCH_TYPES: readonly (readonly [type: string, ...bodies: unknown[]])[] = [
  [
    "application/merge-patch+json",
    { metadata: { labels: { a: "b" } } },
    { metadata: { labels: { "a b": "c" } } },
    { metadata: { finalizers: ["x"] } },
    { metadata: { name: "other" } },
    { unknown: 1 },
    [],
  ],
  [
    "application/strategic-merge-patch+json",
    { metadata: { labels: { a: "b" } } },
    { metadata: { $patch: "replace", labels: { a: "b" } } },
    { metadata: { annotations: { "bad key!": "x" } } },
  ],
  [
    "application/json-patch+json",
    [{ op: "add", path: "/metadata/labels", value: { a: "b" } }],
    [{ op: "test", path: "/metadata/name", value: "nobody" }],
    [{ op: "remove", path: "/nowhere" }],
    [{ op: "replace", path: "/kind", value: "Other" }],
    [{ op: "jump", path: "/kind" }],
    {},
  ],
];

function patches(): Question[] {
  return SUBJECTS.filter(({ resource }) => resource.verbs.includes("patch")).flatMap((subject) => {
    const { collection, name, object } = subject;
    const one = `${collection}/${name}?${DRY}`;
    const sent = PATCH_TYPES.flatMap(([type, ...bodies]) =>
      bodies.map((body) => ({ method: "PATCH", path: one, body, type })),
    );
    const applied = ["", "&force=true"].map((force) => ({
      method: "PATCH",
      path: `${one}&fieldManager=compare${force}`,
      body: object,
      type: "application/apply-patch+yaml",
    }));
    return [...sent, ...applied];
  });
}

function reads(): Question[] {
  const get = (path: string, accept?: string) => ({
    method: "GET",
    path,
    ...(accept === undefined ? {} : { accept }),
  });
  const groups = [...new Set(facts.groupVersions.map(({ group }) => group))].filter(
    (g) => g !== "",
  );
  return [
    ...SUBJECTS.flatMap(({ collection, name }) => [
      get(`${collection}/${name}`),
      get(`${collection}/${name}`, TABLE),
      get(`${collection}/nobody`),
      get(`${collection}?fieldSelector=metadata.name%3D${name}`),
      get(`${collection}?fieldSelector=metadata.name%3D${name}`, TABLE),
      get(`${collection}?fieldSelector=metadata.name%3D${name}`, PARTIAL),
      get(`${collection}?fieldSelector=nowhere%3Dx`),
      get(`${collection}?labelSelector=a%20b`),
    ]),
    ...facts.groupVersions
      .filter(({ version, onByDefault }) => onByDefault && /^v\d+$/.test(version))
      .map(({ group, version }) =>
        get(group === "" ? `/api/${version}` : `/apis/${group}/${version}`),
      ),
    ...groups.map((group) => get(`/apis/${group}`)),
  ];
}

function deletes(): Question[] {
  const bodies = [undefined, { preconditions: { uid: "other" } }, { propagationPolicy: "Odd" }];
  return SUBJECTS.filter(({ resource }) => resource.verbs.includes("delete")).flatMap(
    ({ collection, name }) => [
      ...bodies.map((body) => ({ method: "DELETE", path: `${collection}/${name}?${DRY}`, body })),
      { method: "DELETE", path: `${collection}/nobody?${DRY}` },
    ],
  );
}

function reviews(): Question[] {
  const review = (group: string, kind: string, plural: string, spec: Json) => ({
    method: "POST",
    path: `/apis/${group}/v1/${plural}`,
    body: { apiVersion: `${group}/v1`, kind, spec },
  });
  const authorization = "authorization.k8s.io";
  const attributes = { resource: "pods", verb: "get", namespace: NAMESPACE };
  return [
    review(authorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews", {}),
    review(authorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews", {
      resourceAttributes: attributes,
      nonResourceAttributes: { path: "/", verb: "get" },
    }),
    review(authorization, "SubjectAccessReview", "subjectaccessreviews", {}),
    review(authorization, "SubjectAccessReview", "subjectaccessreviews", {
      resourceAttributes: attributes,
    }),
    review(authorization, "SubjectAccessReview", "subjectaccessreviews", {
      user: "nobody",
      resourceAttributes: attributes,
    }),
    review(authorization, "SelfSubjectRulesReview", "selfsubjectrulesreviews", {}),
    review("authentication.k8s.io", "TokenReview", "tokenreviews", {}),
    review("authentication.k8s.io", "TokenReview", "tokenreviews", { token: "none" }),
  ];
}

function errors(): Question[] {
  const maps = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
  const map = named("v1", "ConfigMap", "x");
  const post = (path: string, body: unknown) => ({ method: "POST", path, body });
  return [
    { method: "GET", path: "/apis/nowhere.example.com/v1/things" },
    { method: "GET", path: "/api/v1/nothings" },
    { method: "GET", path: `${maps}?limit=x` },
    { method: "GET", path: `${maps}?continue=x` },
    { method: "GET", path: `${maps}?resourceVersion=x` },
    { method: "GET", path: `${maps}?resourceVersionMatch=Exact` },
    post(`${maps}?${DRY}`, "{"),
    post(`${maps}?${DRY}`, "[]"),
    post(`${maps}?${DRY}`, '{"data":{"a":1}}'),
    post(`${maps}?${DRY}`, { ...map, kind: "Secret" }),
    post(`${maps}?${DRY}`, { ...map, apiVersion: "v9" }),
    post(`${maps}?${DRY}`, { ...map, metadata: { name: "x", namespace: "other" } }),
    post(`${maps}?${DRY}&fieldValidation=Strict`, { ...map, unknown: 1 }),
    post(`${maps}?${DRY}&fieldValidation=Warn`, { ...map, unknown: 1 }),
    post(`${maps}?${DRY}&fieldValidation=Odd`, map),
    post(`${maps}?dryRun=Odd`, map),
    post("/api/v1/namespaces/nowhere/configmaps", map),
    { method: "PUT", path: maps, body: map },
    { method: "PATCH", path: `${maps}/x`, body: {}, type: "application/json" },
    { method: "PATCH", path: `${maps}/x?fieldManager=a`, body: map, type: "text/plain" },
  ];
}

function judged(body: unknown): Question {
  return { method: "POST", path: `${DEFINITIONS}?${DRY}`, body };
}

/** Each rule of the corpus, in a definition of its own. */
function rules(): Question[] {
  return RULE_COSTS.flatMap(({ schema, accepted, refused, isResource }) =>
    [...accepted, ...refused].map(([rule]) => {
      const ruled = { ...schema, "x-kubernetes-validations": [{ rule }] };
      const root = isResource ? ruled : { type: "object", properties: { spec: ruled } };
      return judged(definitionOf("things.example.com", "Thing", { versions: [versionOf(root)] }));
    }),
  );
}
