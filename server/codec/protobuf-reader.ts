/**
 * Opens a reader of Protobuf that counts: an empty field takes two bytes, and a packed number one, so a body of 3 MB
 * has room for millions, and each is work whatever becomes of it. Pure.
 */
import { default as protobuf, type Reader } from "protobufjs/minimal.js";
import { STRETCH } from "../../storage/base/steps.js";
import { type BodyLimits, countText, DEFINITION_LIMITS, refuseValues } from "./body-values.js";

/** Of one body with all objects within it; the largest definitions in use have fewer. */
export const PROTOBUF_FIELDS_MAX = 250_000;
const FIELD_BYTES_MIN = 2;

/** The bytes are not a message of the type. */
export class ProtobufFailure extends Error {
  override readonly name = "ProtobufFailure";
}

export interface BudgetOptions {
  readonly limits?: BodyLimits;
  readonly fieldsMax?: number;
}

/** What a body may hold, less what was read of it, the objects within it among that. */
export class ReadingBudget {
  /** Whether the body has room for too many fields. */
  readonly countsFields: boolean;
  readonly #limits: BodyLimits;
  readonly #fieldsMax: number;
  #fields = 0;
  #values = 0;
  #inSteps = 0;

  /** @param bytes of the body */
  constructor(
    bytes: number,
    { limits = DEFINITION_LIMITS, fieldsMax = PROTOBUF_FIELDS_MAX }: BudgetOptions = {},
  ) {
    this.countsFields = bytes > fieldsMax * FIELD_BYTES_MIN;
    this.#limits = limits;
    this.#fieldsMax = fieldsMax;
  }

  /** Whether so many fields were read that a step ends, where one is read in steps. */
  endsStep(): boolean {
    return ++this.#inSteps % STRETCH === 0;
  }

  /** @throws {ProtobufFailure} */
  takeFields(count: number): void {
    this.#fields += count;
    if (this.#fields > this.#fieldsMax) {
      throw new ProtobufFailure(`the message has more than ${this.#fieldsMax} fields`);
    }
  }

  /** An item of a list, or an entry of a map. @throws {StatusError} 413 */
  takeValue(): void {
    if (++this.#values > this.#limits.values) throw refuseValues(this.#limits);
  }

  /** The values of a JSON text within the message, which is not parsed yet. @throws {StatusError} 413 */
  takeText(text: string): void {
    this.#values = countText(text, this.#limits, this.#values);
  }
}

type CountingReader = Reader & { budget: ReadingBudget };

/** The reader throws a ProtobufFailure behind the last field that it may read. */
export function openReader(bytes: Buffer, budget: ReadingBudget): Reader {
  const reader = protobuf.Reader.create(bytes) as CountingReader;
  reader.budget = budget;
  if (!budget.countsFields) return reader;
  const { tag } = reader;
  reader.tag = () => {
    budget.takeFields(1);
    return tag.call(reader);
  };
  return reader;
}

/** @param reader one of `openReader` */
export function budgetOf(reader: Reader): ReadingBudget {
  return (reader as CountingReader).budget;
}
