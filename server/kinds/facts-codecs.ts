/** Codecs of built-in kinds: everything compiled from the facts, joined by kind. */
import { createMergeSchemas } from "../apply/merge-schema-facts.js";
import { createStrategicMergePatcher } from "../apply/strategic-merge.js";
import { createDeclarativeChecks, shadowRulesAt } from "../schema/declarative.js";
import type { DefaultingOptions } from "../schema/defaulting.js";
import type { Facts, StructType } from "../schema/model.js";
import { createObjectCodecs, type ObjectCodec } from "../schema/object-codec.js";
import type { DeclarativeRules, KindCodec, KindCodecs } from "./kind-codec.js";

export interface FactsCodecOptions {
  readonly defaulting?: DefaultingOptions;
  /** Gates of declarative rules; defaults have others. Default: all are off. */
  isRuleGateEnabled?(gate: string): boolean;
}

/** @throws {TypeError} when the facts lack the type of metadata */
export function createFactsCodecs(facts: Facts, options: FactsCodecOptions = {}): KindCodecs {
  const { model } = facts;
  const objects = createObjectCodecs(facts, options.defaulting);
  const mergeSchemas = createMergeSchemas(model);
  const patcher = createStrategicMergePatcher(model);
  const checkOf = createDeclarativeChecks(
    model,
    (gate) => options.isRuleGateEnabled?.(gate) ?? false,
  );
  const codecs = new Map<StructType, KindCodec>();

  function rulesOf(type: StructType): DeclarativeRules | undefined {
    const check = checkOf(type);
    return check && { check, shadowRulesAt: (path) => shadowRulesAt(model, type, path) };
  }

  function join(type: StructType, codec: ObjectCodec): KindCodec {
    let rules: { readonly of: DeclarativeRules | undefined } | undefined;
    return Object.freeze({
      ...codec,
      mergeSchema: () => mergeSchemas.ofKind(type),
      strategicMerge: () => (current, patch) => patcher(type, current, patch),
      declarativeRules() {
        rules ??= { of: rulesOf(type) };
        return rules.of;
      },
      published: () => undefined,
    } satisfies KindCodec);
  }

  return {
    forKind(group, version, kind) {
      const type = model.kind(group, version, kind);
      const codec = objects.forKind(group, version, kind);
      if (type === undefined || codec === undefined) return undefined;
      let joined = codecs.get(type);
      if (joined === undefined) {
        joined = join(type, codec);
        codecs.set(type, joined);
      }
      return joined;
    },
  };
}
