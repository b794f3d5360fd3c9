/**
 * Compiles a checked tree into closures, once; an evaluation only calls them. Every step is charged with
 * what it costs in kube-apiserver, so an evaluation ends there and here after the same number of steps.
 *
 * A chain of members and indexes is one attribute: its first name costs 1 and every member 1. Where a
 * chain is only resolved (as a branch of a conditional, as an index, under has()), the first name is free.
 *
 *     self.replicas > 1 ? self.name : ""     conditional
 *       self.replicas > 1                      invocation of _>_, costs 1
 *         self.replicas                          selection, costs 1, of the variable self, costs 1
 *         1                                      a value
 *       self.name                              selection, costs 1, of the variable self, which is free: it is only resolved
 */
import { COLLECTORS, type Collector } from "./collectors.js";
import { isConstant, isConstantConversion, isConstantSet, isInEmptyList } from "./constants.js";
import { LIST_COST, MAP_COST, STRUCT_COST } from "./costs.js";
import { CelCompileError, Failure } from "./errors.js";
import {
  boolOf,
  type Evaluator,
  Frame,
  type Kept,
  kept,
  noOverload,
  type Plan,
  resultOf,
} from "./frame.js";
import { Late } from "./late.js";
import { LOOP_COSTS } from "./loop-costs.js";
import type { LiteralPatterns } from "./regex.js";
import {
  conditional,
  equality,
  index,
  invocation,
  logical,
  membership,
  orElse,
  presence,
  selection,
} from "./steps.js";
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
  TypeValue,
  type Value,
} from "./values.js";

/** @throws {CelCompileError} for a constant that cannot be converted */
export function plan(
  root: Node,
  source: string,
  variables: ReadonlyMap<string, Adapt>,
  patterns: LiteralPatterns,
): Plan {
  const planner = new Planner(source, variables, patterns);
  const run = planner.plan(root, new Map());
  return { ...planner.counts, run, patterns, zones: new Map() };
}

/** Slots of macro variables. */
type VariableSlots = ReadonlyMap<string, number>;

class Planner {
  readonly #source: string;
  readonly #variables: ReadonlyMap<string, Adapt>;
  readonly #patterns: LiteralPatterns;
  readonly #variableSlots = new Map<string, number>();
  /** Slots of bound names, with those of what their first use costs. */
  readonly #dues = new Map<number, number>();
  slotCount = 0;
  #keptCount = 0;

  get counts() {
    const hasDues = this.#dues.size > 0;
    return { slotCount: this.slotCount, keptCount: this.#keptCount, hasDues };
  }

  constructor(source: string, variables: ReadonlyMap<string, Adapt>, patterns: LiteralPatterns) {
    this.#source = source;
    this.#variables = variables;
    this.#patterns = patterns;
  }

  /** @param isRead whether an attribute is read, or only resolved */
  plan(node: Node, scope: VariableSlots, isRead = true): Evaluator {
    switch (node.kind) {
      case "literal": {
        const { value } = node;
        return () => value;
      }
      case "identifier": {
        if (node.typeName !== undefined) return constantType(node.typeName);
        const slot = node.isAbsolute ? undefined : scope.get(node.name);
        return this.#identifier(node.name, slot, isRead);
      }
      case "select":
        return this.#select(node, scope, isRead);
      case "call":
        return this.#call(node, scope, isRead);
      case "list":
        return this.#list(node, scope);
      case "map":
        return this.#map(node, scope);
      case "struct":
        return this.#struct(node, scope);
      case "comprehension":
        return this.#comprehension(node, scope);
      case "bind":
        return node.macro === "bind" ? this.#let(node, scope) : this.#bind(node, scope);
    }
  }

  /** A branch or an index: an attribute is resolved, anything else evaluated. */
  #resolved(node: Node, scope: VariableSlots): Evaluator {
    return this.plan(node, scope, !isAttribute(node));
  }

  /** What a member is taken of. */
  #operand(node: Node, scope: VariableSlots, isRead: boolean): Evaluator {
    if (isAttribute(node)) return this.plan(node, scope, isRead);
    const step = this.plan(node, scope);
    if (!isRead) return step;
    return (frame) => {
      frame.spend(1);
      return step(frame);
    };
  }

  #identifier(name: string, slot: number | undefined, isRead: boolean): Evaluator {
    const cost = isRead ? 1 : 0;
    if (slot !== undefined) return this.#local(slot, cost);
    const adapt = this.#variables.get(name);
    if (adapt === undefined) throw new Error(`variable ${name} was checked, but is not there`);
    const own = this.#variableSlots.get(name) ?? this.slotCount++;
    this.#variableSlots.set(name, own);
    return (frame) => {
      frame.spend(cost);
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

  #local(slot: number, cost: number): Evaluator {
    const due = this.#dues.get(slot);
    if (due === undefined) {
      return (frame) => {
        frame.spend(cost);
        return frame.slots[slot] as Value;
      };
    }
    return (frame) => {
      const owed = frame.slots[due];
      frame.spend(typeof owed === "number" ? cost + owed : cost);
      frame.slots[due] = undefined;
      return frame.slots[slot] as Value;
    };
  }

  #select(node: Select, scope: VariableSlots, isRead: boolean): Evaluator {
    if (node.typeName !== undefined) return constantType(node.typeName);
    if (node.variableName !== undefined) {
      return this.#identifier(node.variableName, undefined, isRead);
    }
    const field = node.memberName ?? node.field;
    if (node.isTest) {
      // kube-apiserver takes a first name off that a conditional does not have.
      const cost = isRead && isConditional(rootOf(node.operand)) ? 0 : 1;
      return presence(this.#operand(node.operand, scope, false), field, cost);
    }
    return selection(this.#operand(node.operand, scope, isRead), field, node.isOptional);
  }

  #call(node: Call, scope: VariableSlots, isRead: boolean): Evaluator {
    const { name, args, target } = node;
    const [first, second, third] = args;
    if (isInEmptyList(node)) return () => false;
    if (first !== undefined && second !== undefined) {
      switch (name) {
        case "_&&_":
        case "_||_":
          return logical(name === "_||_", this.plan(first, scope), this.plan(second, scope));
        case "_?_:_":
          if (third === undefined) break;
          return conditional(
            this.plan(first, scope),
            this.#resolved(second, scope),
            this.#resolved(third, scope),
          );
        case "_==_":
        case "_!=_":
          return kept(
            this.#keptCount++,
            equality(name === "_==_", this.plan(first, scope), this.plan(second, scope)),
          );
        case "@in":
          return this.#membership(node, first, second, scope);
        case "_[_]":
        case "_[?_]": {
          const container = this.#operand(first, scope, isRead);
          return index(container, this.#resolved(second, scope), name === "_[?_]");
        }
      }
    }
    if (target !== undefined && first !== undefined && (name === "or" || name === "orValue")) {
      return orElse(this.plan(target, scope), this.plan(first, scope), name === "orValue");
    }
    if (name === "find" || name === "findAll") this.#compilePattern(first);
    const nodes = target === undefined || node.isNamespaced === true ? args : [target, ...args];
    const steps = nodes.map((part) => this.plan(part, scope));
    const step = invocation(name, node.overloads ?? [], steps);
    return isConstantConversion(node) ? this.#constant(step, node) : kept(this.#keptCount++, step);
  }

  #membership(node: Call, item: Node, container: Node, scope: VariableSlots): Evaluator {
    const [only, ...others] = node.overloads ?? [];
    const isOfList = others.length === 0 && only?.parameters[1]?.kind === "list";
    const cost = !isOfList ? "one" : isConstantSet(container) ? "nothing" : "size";
    const step = membership(this.plan(item, scope), this.plan(container, scope), cost);
    return kept(this.#keptCount++, step);
  }

  /** Evaluates what is constant now, so that a malformed one is found when it is compiled. */
  #constant(step: Evaluator, { offset }: Node): Evaluator {
    const patterns = this.#patterns;
    const nothing = { ...this.counts, run: step, patterns, zones: new Map() };
    const frame = new Frame(nothing, {}, Number.MAX_SAFE_INTEGER);
    try {
      const value = step(frame);
      return () => value;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw CelCompileError.ofConstant(error.message, this.#source, offset);
    }
  }

  /** Literal patterns are compiled with the expression. */
  #compilePattern(pattern: Node | undefined): void {
    if (pattern?.kind !== "literal" || typeof pattern.value !== "string") return;
    try {
      this.#patterns.add(pattern.value);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw CelCompileError.ofConstant(error.message, this.#source, pattern.offset);
    }
  }

  #list(node: ListNode, scope: VariableSlots): Evaluator {
    const elements = node.elements.map((element) => this.plan(element, scope));
    const { optionals } = node;
    const cost = isConstant(node) ? 0 : LIST_COST;
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

  #map(node: MapNode, scope: VariableSlots): Evaluator {
    const entries = node.entries.map((entry) => ({
      key: this.plan(entry.key, scope),
      value: this.plan(entry.value, scope),
      isOptional: entry.isOptional,
    }));
    const cost = isConstant(node) ? 0 : MAP_COST;
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

  #struct({ name, fields }: StructNode, scope: VariableSlots): Evaluator {
    const steps = fields.map((field) => ({ ...field, step: this.plan(field.value, scope) }));
    return (frame) => {
      frame.spend(STRUCT_COST);
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

  /**
   * kube-apiserver evaluates the optional twice: to ask whether it has a value, and for the value when the
   * name is first used. Here the second time is only paid for.
   */
  #bind(node: Bind, scope: VariableSlots): Evaluator {
    const value = this.plan(node.value, scope);
    const slot = this.slotCount++;
    const due = this.slotCount++;
    this.#dues.set(slot, due);
    const body = this.plan(node.body, new Map(scope).set(node.variable, slot));
    const isFlat = node.macro === "optFlatMap";
    return (frame) => {
      const before = frame.cost;
      const bound = value(frame);
      if (!(bound instanceof Optional)) throw noOverload(node.macro, [bound]);
      const cost = frame.cost - before;
      frame.spend(bound.value === undefined || !isFlat ? 2 : 1);
      if (bound.value === undefined) return bound;
      frame.slots[slot] = bound.value;
      frame.slots[due] = cost + 1;
      const result = body(frame);
      if (!isFlat) return new Optional(result);
      if (result instanceof Optional) return result;
      throw noOverload(node.macro, [result]);
    };
  }

  /** kube-apiserver binds by a loop over an empty list, and pays for that list. */
  #let(node: Bind, scope: VariableSlots): Evaluator {
    const value = this.plan(node.value, scope);
    const slot = this.slotCount++;
    const body = this.plan(node.body, new Map(scope).set(node.variable, slot));
    return (frame) => {
      frame.spend(LIST_COST);
      frame.slots[slot] = value(frame);
      return body(frame);
    };
  }

  #comprehension(node: Comprehension, scope: VariableSlots): Evaluator {
    const range = this.plan(node.range, scope);
    const inner = new Map(scope);
    const slots = node.variables.map((name) => {
      inner.set(name, this.slotCount);
      return this.slotCount++;
    });
    const id = this.#keptCount++;
    const body = this.plan(node.body, inner);
    const filter = node.filter === undefined ? undefined : this.plan(node.filter, inner);
    const within = this.#keptCount;
    const cost = LOOP_COSTS[node.macro];
    const [first = 0, second] = slots;
    const collect = COLLECTORS[node.macro];
    // A list of one constant is a constant.
    const keptCost = isListing(node) && isConstant(node.body) ? cost.kept - LIST_COST : cost.kept;
    return (frame) => {
      const memory = frame.kept;
      const known = memory?.[id] as Loop | undefined;
      if (known !== undefined) {
        frame.restore(known);
        if (known.outcome !== undefined) return resultOf(known);
      }
      const loop = known ?? new Loop(range(frame), collect(frame, keptCost));
      if (memory !== undefined) memory[id] = loop;
      const { collector } = loop;
      while (loop.at < loop.size) {
        if (memory !== undefined && !loop.isWithin) {
          memory.fill(undefined, id + 1, within);
          frame.note(loop);
          frame.pauseIfLong();
        }
        const key = loop.key();
        // With one variable a map is iterated by key.
        const value = loop.isOfMap && second === undefined ? key : loop.value(key);
        let goesOn = true;
        if (value !== undefined) {
          frame.spend(cost.turn);
          frame.slots[first] = second === undefined ? value : key;
          if (second !== undefined) frame.slots[second] = value;
          if (filter === undefined || boolOf(filter(frame))) {
            goesOn = collector.take(body, key, value);
          }
        }
        loop.next();
        if (goesOn) continue;
        if (loop.at < loop.size) frame.spend(cost.stop);
        loop.end();
      }
      if (memory !== undefined) frame.note(loop);
      frame.spend(cost.result);
      const value = collector.finish();
      if (memory !== undefined) {
        loop.outcome = { value };
        frame.note(loop);
      }
      return value;
    };
  }
}

/** A loop under way: which element it is at, and what it has collected. */
class Loop implements Kept {
  cost = 0;
  work = 0;
  slots: Kept["slots"];
  outcome: Kept["outcome"];
  readonly size: number;
  readonly #source: ListValue | MapValue;
  readonly collector: Collector;
  readonly isOfMap: boolean;
  at = 0;
  /** Whether the element has been begun. */
  isWithin = false;
  readonly #keys: Iterator<Value> | undefined;
  #key: Value = null;

  constructor(source: Value, collector: Collector) {
    if (!(source instanceof ListValue || source instanceof MapValue)) {
      throw noOverload("comprehension", [source]);
    }
    this.#source = source;
    this.size = source.size;
    this.collector = collector;
    this.isOfMap = source instanceof MapValue;
    if (source instanceof MapValue) this.#keys = source.keys()[Symbol.iterator]();
  }

  /** The key of the element, which is begun. */
  key(): Value {
    if (!this.isWithin) {
      this.#key = this.#keys === undefined ? BigInt(this.at) : this.#keys.next().value;
      this.isWithin = true;
    }
    return this.#key;
  }

  value(key: Value): Value | undefined {
    return this.#source instanceof ListValue ? this.#source.at(this.at) : this.#source.get(key);
  }

  next(): void {
    this.at++;
    this.isWithin = false;
  }

  end(): void {
    this.at = this.size;
  }
}

function constantType(name: string): Evaluator {
  // Map types with fields, and all list types, share one name each.
  const value = new TypeValue(name);
  return () => value;
}

/** Whether a member of the node extends it, instead of being taken of its value. */
function isAttribute(node: Node): boolean {
  switch (node.kind) {
    case "identifier":
    case "select":
      return node.typeName === undefined;
    case "call":
      return node.name === "_[_]" || node.name === "_[?_]" || isConditional(node);
    default:
      return isConditional(node);
  }
}

/** Whether each element adds what the body gives to a list. */
function isListing({ macro }: Comprehension): boolean {
  return macro === "map" || macro === "transformList" || macro === "sortBy";
}

/** `?:`, and optMap and optFlatMap, which are one. */
function isConditional(node: Node): boolean {
  if (node.kind === "bind") return node.macro !== "bind";
  return node.kind === "call" && node.name === "_?_:_";
}

/** What a chain of members and indexes starts with. */
function rootOf(node: Node): Node {
  if (node.kind === "select" && node.typeName === undefined) return rootOf(node.operand);
  const [container] = node.kind === "call" && /^_\[\??_\]$/.test(node.name) ? node.args : [];
  return container === undefined ? node : rootOf(container);
}
