/**
 * Collectors of the looping macros: whether all or any hold, a list, a map. Each loop of an evaluation
 * has its own; the loop charges for its turns, a collector for what it keeps.
 */
import { compare } from "./comparison.js";
import { runningSelfCompared } from "./cost/list-costs.js";
import { Failure } from "./errors.js";
import { boolOf, type Evaluator, type Frame, noOverload } from "./frame.js";
import type { MacroName } from "./macro-name.js";
import { EntryMap, ListValue, MapValue, type Value } from "./values.js";

export interface Collector {
  /** Whether to continue. */
  take(body: Evaluator, key: Value, value: Value): boolean;
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

function listCollector(frame: Frame, kept: number): Collector {
  const items: Value[] = [];
  return {
    take(body) {
      frame.spend(kept);
      items.push(body(frame));
      return true;
    },
    finish: () => new ListValue(items),
  };
}

/** @param kept what an element that passes costs */
export type Collect = (frame: Frame, kept: number) => Collector;

export const COLLECTORS: Readonly<Record<MacroName, Collect>> = {
  all: quantifier(false),
  exists: quantifier(true),
  existsOne(frame, kept) {
    let count = 0;
    return {
      take(body) {
        if (boolOf(body(frame))) {
          frame.spend(kept);
          count++;
        }
        return true;
      },
      finish: () => count === 1,
    };
  },
  map: listCollector,
  transformList: listCollector,
  filter(frame, kept) {
    const items: Value[] = [];
    return {
      take(body, _key, value) {
        if (boolOf(body(frame))) {
          frame.spend(kept);
          items.push(value);
        }
        return true;
      },
      finish: () => new ListValue(items),
    };
  },
  transformMap(frame, kept) {
    const map = new EntryMap();
    return {
      take(body, key) {
        frame.spend(kept);
        map.add(key, body(frame));
        return true;
      },
      finish: () => map,
    };
  },
  transformMapEntry(frame, kept) {
    const map = new EntryMap();
    return {
      take(body) {
        frame.spend(kept);
        const entries = body(frame);
        if (!(entries instanceof MapValue)) throw noOverload("transformMapEntry", [entries]);
        for (const key of entries.keys()) {
          frame.charge(1);
          const value = entries.get(key);
          if (value !== undefined) map.add(key, value);
        }
        return true;
      },
      finish: () => map,
    };
  },
  sortBy(frame, kept) {
    const items: { key: Value; value: Value }[] = [];
    return {
      take(body, _key, value) {
        frame.spend(kept);
        items.push({ key: body(frame), value });
        return true;
      },
      finish() {
        // The list is read for its keys and again to be sorted by them.
        frame.spend(2 + runningSelfCompared(new ListValue(items.map(({ key }) => key))));
        items.sort((a, b) => compare(a.key, b.key, frame.charge));
        return new ListValue(items.map(({ value }) => value));
      },
    };
  },
};
