/**
 * Every kind survives a round trip through every version that it is served in (S2-DEP-02). Objects are
 * generated from the facts, so a new version is tested as soon as the facts have it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { GroupVersionKind } from "../api/names.js";
import { createNaming } from "../api/naming.js";
import { createGenerator } from "../codec/testing/generated-objects.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import type { MainResource } from "../kinds/served-resource.js";
import type { ObjectCodec } from "../schema/object-codec.js";
import { parseJson } from "../schema/parse-json.js";
import { loadFacts } from "../types/load-facts.js";
import { createBuiltInCatalog } from "./built-in-catalog.js";

const naming = createNaming("kubernetes");
const facts = loadFacts(naming);
const codecs = createFactsCodecs(facts, { isRuleGateEnabled: () => true });
const catalog = createBuiltInCatalog({ naming, facts, codecs, isEnabled: () => true });
const generate = createGenerator(facts.model);

/** Objects per kind and direction; the seed differs from run to run. */
const RUNS = 30;

/** Metrics have one of several forms, which generated objects do not follow: see conversions.test.ts. */
const ELSEWHERE: ReadonlySet<string> = new Set(["autoscaling/v1"]);

const converted = catalog.resources
  .filter((resource) => resource.form === "main")
  .filter(({ conversion }) => conversion !== undefined)
  .filter(({ group, version }) => !ELSEWHERE.has(`${group}/${version}`));

/** The object as the server decodes it: known fields, defaults, canonical text. */
function asRead(codec: ObjectCodec, object: JsonObject): ApiObject {
  const decoded = codec.decode(object).object;
  codec.applyDefaults(decoded);
  return readBack(codec, decoded);
}

function readBack(codec: ObjectCodec, object: ApiObject): ApiObject {
  return codec.decode(parseJson(codec.encode(object))).object;
}

function toServed({ conversion, codec }: MainResource, stored: ApiObject): ApiObject {
  assert.ok(conversion);
  return readBack(codec, conversion.fromStored(structuredClone(stored)));
}

function toStored({ conversion, storedCodec }: MainResource, served: ApiObject): ApiObject {
  assert.ok(conversion);
  const stored = conversion.toStored(structuredClone(served));
  storedCodec.applyDefaults(stored);
  return readBack(storedCodec, stored);
}

test("S2-VERS-08: versions of one kind are served of one stored object", () => {
  assert.ok(converted.length >= 19, `${converted.length} versions are converted`);
  for (const { partition, conversion } of converted) {
    const stored = catalog.stored(partition);
    assert.equal(stored?.conversion, undefined, `${partition} is served as it is stored`);
    assert.ok(conversion);
  }
});

/** Generated objects of a kind in one of its versions. */
function generated({ group, version, kind }: GroupVersionKind): fc.Arbitrary<JsonObject> {
  const type = facts.model.kind(group, version, kind);
  assert.ok(type !== undefined);
  return generate(type).map(kind === "ResourceSlice" ? withoutEmptyPlaces : (object) => object);
}

/** A valid slice never sets an empty place; v1beta1 has no other way to leave one out. */
function withoutEmptyPlaces(slice: JsonObject): JsonObject {
  const spec = { ...(slice.spec as JsonObject | undefined) };
  if (spec.nodeName === "") delete spec.nodeName;
  if (spec.allNodes === false) delete spec.allNodes;
  return { ...slice, spec };
}

for (const resource of converted) {
  const { group, version, resource: name, kind, codec, storedCodec, partition } = resource;
  const stored = catalog.stored(partition);
  assert.ok(stored !== undefined);
  test(`S2-DEP-02, S2-VERS-08: ${group}/${version} ${name} loses nothing on the way to the stored version and back`, () => {
    fc.assert(
      fc.property(generated(stored), (sample) => {
        const stored = asRead(storedCodec, sample);
        assert.deepEqual(toStored(resource, toServed(resource, stored)), stored);
      }),
      { numRuns: RUNS },
    );
    fc.assert(
      fc.property(generated({ group, version, kind }), (sample) => {
        const served = toServed(resource, toStored(resource, asRead(codec, sample)));
        assert.deepEqual(toServed(resource, toStored(resource, served)), served);
      }),
      { numRuns: RUNS },
    );
  });
}
