/**
 * Collectors of the looping macros: whether all or any hold, a list, a map. Each loop of an evaluation
 * has its own; the loop charges for each turn.
 */
import { compare } from "./comparison.js";
import { Failure } from "./errors.js";
import { boolOf, type Frame, noOverload, type Step } from "./frame.js";
import type { MacroName } from "./macro-name.js";
import { EntryMap, ListValue, MapValue, type Value } from "./values.js";

export interface Collector {
  /** Whether to continue. */
  take(body: Step, key: Value, value: Value): boolean;
  finish(): Value;
}

function quantifier(stopAt: boolean): (frame: Frame) => Collector {
  return (frame) => {
    let failure: Failure | undefined;
    let result = !stopAt;
    return {
      take(body) {
        try {
          if (boolOf(body(frame)) !== stopAt) return true;
          result = stopAt;
          return false;
        } catch (error) {
          // A later element may still decide, so the failure is kept.
          if (!(error instanceof Failure)) throw error;
          failure ??= error;
          return true;
        }
      },
      finish() {
        if (result !== stopAt && failure !== undefined) throw failure;
        return result;
      },
    };
  };
}

export const COLLECTORS: Readonly<Record<MacroName, (frame: Frame) => Collector>> = {
  all: quantifier(false),
  exists: quantifier(true),
  existsOne(frame) {
    let count = 0;
    return {
      take(body) {
        if (boolOf(body(frame))) count++;
        return true;
      },
      finish: () => count === 1,
    };
  },
  map: listCollector,
  transformList: listCollector,
  filter(frame) {
    const items: Value[] = [];
    return {
      take(body, _key, value) {
        if (boolOf(body(frame))) items.push(value);
        return true;
      },
      finish: () => new ListValue(items),
    };
  },
  transformMap(frame) {
    const map = new EntryMap();
    return {
      take(body, key) {
        map.add(key, body(frame));
        return true;
      },
      finish: () => map,
    };
  },
  transformMapEntry(frame) {
    const map = new EntryMap();
    return {
      take(body) {
        const entries = body(frame);
        if (!(entries instanceof MapValue)) throw noOverload("transformMapEntry", [entries]);
        for (const key of entries.keys()) {
          frame.spend(1);
          const value = entries.get(key);
          if (value !== undefined) map.add(key, value);
        }
        return true;
      },
      finish: () => map,
    };
  },
  sortBy(frame) {
    const items: { key: Value; value: Value }[] = [];
    return {
      take(body, _key, value) {
        items.push({ key: body(frame), value });
        return true;
      },
      finish() {
        // Sorting costs n log n comparisons, charged in advance.
        frame.spend(items.length * Math.ceil(Math.log2(items.length + 1)));
        items.sort((a, b) => compare(a.key, b.key, frame.charge));
        return new ListValue(items.map(({ value }) => value));
      },
    };
  },
};

function listCollector(frame: Frame): Collector {
  const items: Value[] = [];
  return {
    take(body) {
      items.push(body(frame));
      return true;
    },
    finish: () => new ListValue(items),
  };
}
