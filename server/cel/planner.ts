/**
 * Compiles a checked tree into closures, once; an evaluation only calls them. Every step is charged
 * before it runs, so an evaluation ends after a deterministic number of steps. Nodes cost what they cost
 * upstream, loops approximately.
 */
import { COLLECTORS } from "./collectors.js";
import { equal } from "./comparison.js";
import { costBeyondStep, LIST_COST, MAP_COST, TURN_COST } from "./costs.js";
import { dispatchOf } from "./dispatch.js";
import { Failure } from "./errors.js";
import { boolOf, type Frame, noOverload, type Plan, type Step } from "./frame.js";
import { Late } from "./late.js";
import { noCost, type Overload } from "./overloads.js";
import type { LiteralPatterns } from "./regex.js";
import type {
  Bind,
  Call,
  Comprehension,
  ListNode,
  MapNode,
  Node,
  Select,
  StructNode,
} from "./syntax.js";
import {
  type Adapt,
  EntryMap,
  ListValue,
  MapValue,
  Optional,
  StructMap,
  sizeOf,
  TypeValue,
  typeNameOf,
  Uint,
  type Value,
} from "./values.js";

export function plan(
  root: Node,
  variables: ReadonlyMap<string, Adapt>,
  patterns: LiteralPatterns,
): Plan {
  const planner = new Planner(variables);
  const run = planner.plan(root, new Map());
  return { run, slotCount: planner.slotCount, patterns };
}

type Scope = ReadonlyMap<string, number>;

class Planner {
  readonly #variables: ReadonlyMap<string, Adapt>;
  readonly #variableSlots = new Map<string, number>();
  slotCount = 0;

  constructor(variables: ReadonlyMap<string, Adapt>) {
    this.#variables = variables;
  }

  plan(node: Node, scope: Scope): Step {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "identifier":
        if (node.typeName !== undefined) return constantType(node.typeName);
        return this.#identifier(node.name, node.isAbsolute ? undefined : scope.get(node.name));
      case "select":
        return this.#select(node, scope);
      case "call":
        return this.#call(node, scope);
      case "list":
        return this.#list(node, scope);
      case "map":
        return this.#map(node, scope);
      case "struct":
        return this.#struct(node, scope);
      case "comprehension":
        return this.#comprehension(node, scope);
      case "bind":
        return this.#bind(node, scope);
    }
  }

  #identifier(name: string, slot: number | undefined): Step {
    if (slot !== undefined) {
      return (frame) => {
        frame.spend(1);
        return frame.slots[slot] as Value;
      };
    }
    const adapt = this.#variables.get(name);
    if (adapt === undefined) throw new Error(`variable ${name} was checked, but is not there`);
    const own = this.#variableSlots.get(name) ?? this.slotCount++;
    this.#variableSlots.set(name, own);
    return (frame) => {
      frame.spend(1);
      const known = frame.slots[own];
      if (known !== undefined) return known;
      const bound = Object.hasOwn(frame.bindings, name) ? frame.bindings[name] : undefined;
      const raw = bound instanceof Late ? bound.value : bound;
      if (raw === undefined) throw new Failure(`no such attribute(s): ${name}`);
      const value = adapt(raw);
      frame.slots[own] = value;
      return value;
    };
  }

  #select(node: Select, scope: Scope): Step {
    if (node.typeName !== undefined) return constantType(node.typeName);
    if (node.variableName !== undefined) return this.#identifier(node.variableName, undefined);
    const operand = this.plan(node.operand, scope);
    const { field } = node;
    if (node.isTest) {
      return (frame) => {
        frame.spend(1);
        const found = lookUp(unwrap(operand(frame)), field);
        return found !== undefined;
      };
    }
    const isOptional = node.isOptional;
    return (frame) => {
      frame.spend(1);
      const target = operand(frame);
      if (target instanceof Optional) {
        return target.value === undefined ? target : optional(lookUp(target.value, field));
      }
      const found = lookUp(target, field);
      if (isOptional) return optional(found);
      if (found === undefined) throw new Failure(`no such key: ${field}`);
      return found;
    };
  }

  #call(node: Call, scope: Scope): Step {
    const nodes =
      node.target === undefined || node.isNamespaced === true
        ? node.args
        : [node.target, ...node.args];
    const args = nodes.map((part) => this.plan(part, scope));
    const [first, second, third] = args;
    if (first !== undefined && second !== undefined) {
      switch (node.name) {
        case "_&&_":
          return logical(false, first, second);
        case "_||_":
          return logical(true, first, second);
        case "_?_:_":
          if (third !== undefined) return conditional(first, second, third);
          break;
        case "_==_":
        case "_!=_":
          return equality(node.name === "_==_", first, second);
        case "@in":
          return membership(first, second);
        case "_[_]":
          return index(first, second, false);
        case "_[?_]":
          return index(first, second, true);
        case "or":
        case "orValue":
          return orElse(first, second, node.name === "orValue");
      }
    }
    return invocation(node.name, node.overloads ?? [], args);
  }

  #list(node: ListNode, scope: Scope): Step {
    const elements = node.elements.map((element) => this.plan(element, scope));
    const { optionals } = node;
    const cost = LIST_COST + elements.length;
    if (optionals.size === 0) {
      return (frame) => {
        frame.spend(cost);
        return new ListValue(elements.map((element) => element(frame)));
      };
    }
    return (frame) => {
      frame.spend(cost);
      const items: Value[] = [];
      elements.forEach((element, at) => {
        const value = element(frame);
        if (!optionals.has(at)) items.push(value);
        else if (!(value instanceof Optional)) throw noOverload("?", [value]);
        else if (value.value !== undefined) items.push(value.value);
      });
      return new ListValue(items);
    };
  }

  #map(node: MapNode, scope: Scope): Step {
    const entries = node.entries.map((entry) => ({
      key: this.plan(entry.key, scope),
      value: this.plan(entry.value, scope),
      isOptional: entry.isOptional,
    }));
    const cost = MAP_COST + entries.length;
    return (frame) => {
      frame.spend(cost);
      const map = new EntryMap();
      for (const { key, value, isOptional } of entries) {
        const name = key(frame);
        const entry = value(frame);
        if (!isOptional) map.add(name, entry);
        else if (!(entry instanceof Optional)) throw noOverload("?", [entry]);
        else if (entry.value !== undefined) map.add(name, entry.value);
      }
      return map;
    };
  }

  #struct({ name, fields }: StructNode, scope: Scope): Step {
    const steps = fields.map((field) => ({ ...field, step: this.plan(field.value, scope) }));
    const cost = MAP_COST + fields.length;
    return (frame) => {
      frame.spend(cost);
      const made = new StructMap(name);
      for (const { name: field, step, isOptional } of steps) {
        const value = step(frame);
        if (!isOptional) made.add(field, value);
        else if (!(value instanceof Optional)) throw noOverload("?", [value]);
        else if (value.value !== undefined) made.add(field, value.value);
      }
      return made;
    };
  }

  #bind(node: Bind, scope: Scope): Step {
    const value = this.plan(node.value, scope);
    const slot = this.slotCount++;
    const body = this.plan(node.body, new Map(scope).set(node.variable, slot));
    if (node.macro === "bind") {
      return (frame) => {
        frame.spend(1);
        frame.slots[slot] = value(frame);
        return body(frame);
      };
    }
    const isFlat = node.macro === "optFlatMap";
    return (frame) => {
      frame.spend(1);
      const bound = value(frame);
      if (!(bound instanceof Optional)) throw noOverload(node.macro, [bound]);
      if (bound.value === undefined) return bound;
      frame.slots[slot] = bound.value;
      const result = body(frame);
      if (!isFlat) return new Optional(result);
      if (result instanceof Optional) return result;
      throw noOverload(node.macro, [result]);
    };
  }

  #comprehension(node: Comprehension, scope: Scope): Step {
    const range = this.plan(node.range, scope);
    const inner = new Map(scope);
    const slots = node.variables.map((name) => {
      inner.set(name, this.slotCount);
      return this.slotCount++;
    });
    const body = this.plan(node.body, inner);
    const filter = node.filter === undefined ? undefined : this.plan(node.filter, inner);
    const cost = TURN_COST[node.macro];
    const [first = 0, second] = slots;
    const collect = COLLECTORS[node.macro];
    return (frame) => {
      const source = range(frame);
      const collector = collect(frame);
      const turn = (key: Value, value: Value): boolean => {
        frame.spend(cost);
        frame.slots[first] = second === undefined ? value : key;
        if (second !== undefined) frame.slots[second] = value;
        if (filter !== undefined && !boolOf(filter(frame))) return true;
        return collector.take(body, key, value);
      };
      if (source instanceof ListValue) {
        for (let at = 0; at < source.size; at++) {
          if (!turn(BigInt(at), source.at(at))) break;
        }
      } else if (source instanceof MapValue) {
        for (const key of source.keys()) {
          // With one variable a map is iterated by key.
          const value = second === undefined ? key : source.get(key);
          if (value !== undefined && !turn(key, value)) break;
        }
      } else throw noOverload("comprehension", [source]);
      return collector.finish();
    };
  }
}

function constantType(name: string): Step {
  // Map types with fields, and all list types, share one name each.
  const value = new TypeValue(name);
  return () => value;
}

/** `&&` (false decides) and `||` (true decides): a failure on the other side may be irrelevant. */
function logical(decisive: boolean, left: Step, right: Step): Step {
  return (frame) => {
    let failure: Failure | undefined;
    try {
      const value = left(frame);
      if (value === decisive) return value;
      if (typeof value !== "boolean") failure = noOverload(decisive ? "_||_" : "_&&_", [value]);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = error;
    }
    const value = right(frame);
    if (value === decisive) return value;
    if (failure !== undefined) throw failure;
    if (typeof value !== "boolean") throw noOverload(decisive ? "_||_" : "_&&_", [value]);
    return value;
  };
}

function conditional(condition: Step, whenTrue: Step, whenFalse: Step): Step {
  return (frame) => {
    frame.spend(1);
    return boolOf(condition(frame)) ? whenTrue(frame) : whenFalse(frame);
  };
}

function equality(wanted: boolean, left: Step, right: Step): Step {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    frame.spend(1);
    return equal(a, b, frame.charge) === wanted;
  };
}

function membership(left: Step, right: Step): Step {
  return (frame) => {
    const item = left(frame);
    const container = right(frame);
    frame.spend(1);
    if (container instanceof MapValue) return container.get(item) !== undefined;
    if (!(container instanceof ListValue)) throw noOverload("@in", [item, container]);
    if (typeof item === "string" || item instanceof Uint8Array) {
      return holdsText(container, item, frame);
    }
    for (let at = 0; at < container.size; at++) {
      frame.spend(1);
      if (equal(item, container.at(at), frame.charge)) return true;
    }
    return false;
  };
}

/** Strings and bytes are compared up to the end of the shorter one. */
function holdsText(list: ListValue, text: string | Uint8Array, frame: Frame): boolean {
  for (let at = 0; at < list.size; at++) {
    const other = list.at(at);
    const isText = typeof other === "string" || other instanceof Uint8Array;
    frame.spend(1 + (isText ? costBeyondStep(Math.min(text.length, other.length)) : 0));
    if (equal(text, other, isPaid)) return true;
  }
  return false;
}

function isPaid(): void {}

function index(left: Step, right: Step, isOptional: boolean): Step {
  return (frame) => {
    const target = left(frame);
    const key = right(frame);
    frame.spend(1);
    if (target instanceof Optional) {
      return target.value === undefined ? target : optional(itemAt(target.value, key));
    }
    const found = itemAt(target, key);
    if (isOptional) return optional(found);
    if (found !== undefined) return found;
    throw new Failure(
      target instanceof ListValue
        ? `index out of bounds: ${show(key)}`
        : `no such key: ${show(key)}`,
    );
  };
}

function orElse(receiver: Step, alternative: Step, isValue: boolean): Step {
  return (frame) => {
    frame.spend(1);
    const target = receiver(frame);
    if (!(target instanceof Optional)) throw noOverload(isValue ? "orValue" : "or", [target]);
    if (target.value !== undefined) return isValue ? target.value : target;
    return alternative(frame);
  };
}

function invocation(name: string, overloads: readonly Overload[], args: readonly Step[]): Step {
  const dispatch = dispatchOf(overloads);
  const isFlat = overloads.every(({ cost }) => cost === noCost);
  return (frame) => {
    const values: Value[] = [];
    for (const arg of args) values.push(arg(frame));
    const overload = dispatch(values);
    if (overload === undefined) throw noOverload(name, values);
    frame.spend(isFlat ? 1 : 1 + overload.cost(values.map(sizeOf)));
    return overload.invoke(values, frame);
  };
}

function itemAt(target: Value, key: Value): Value | undefined {
  if (target instanceof MapValue) return target.get(key);
  if (!(target instanceof ListValue)) throw noOverload("_[_]", [target, key]);
  const at = key instanceof Uint ? key.value : key;
  const isNumber = typeof at === "bigint" || (typeof at === "number" && Number.isInteger(at));
  if (!isNumber) throw noOverload("_[_]", [target, key]);
  return at >= 0 && at < target.size ? target.at(Number(at)) : undefined;
}

function lookUp(target: Value | undefined, field: string): Value | undefined {
  if (target instanceof MapValue) return target.get(field);
  if (target === undefined) return undefined;
  throw new Failure(`no such overload: ${typeNameOf(target)}.${field}`);
}

function unwrap(value: Value): Value | undefined {
  return value instanceof Optional ? value.value : value;
}

function optional(value: Value | undefined): Optional {
  return value === undefined ? Optional.none : new Optional(value);
}

function show(key: Value): string {
  if (typeof key === "string") return key.length > 100 ? `${key.slice(0, 100)}...` : key;
  return key instanceof Uint ? key.value.toString() : String(key);
}
