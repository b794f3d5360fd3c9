/** Asks both servers the same, and says how many answers were the same, of known and of unknown difference. */
import type { Answer, HttpsClient } from "../harness/https-client.js";
import { compare, type Difference } from "../upstream/compare.js";
import { type Group, groupDifferences, type Known } from "./group-differences.js";
import { type Campaign, FURNITURE } from "./questions.js";

export interface Pair {
  readonly ours: HttpsClient;
  readonly theirs: HttpsClient;
}

export interface Outcome {
  readonly asked: number;
  readonly known: readonly Group[];
  readonly unknown: readonly Group[];
}

/** Makes the objects that the questions are about, on both. @throws {Error} where one is refused */
export async function furnish(pair: Pair): Promise<void> {
  for (const { method, path, body, type = "application/json" } of FURNITURE) {
    const headers = { "content-type": type };
    const answers = await Promise.all(
      [pair.ours, pair.theirs].map((client) => client.request(path, { method, headers, body })),
    );
    for (const answer of answers) {
      if (!isThere(answer))
        throw new Error(`${path}: ${answer.status} ${answer.text.slice(0, 500)}`);
    }
  }
}

function isThere({ status }: Answer): boolean {
  return status === 200 || status === 201 || status === 409;
}

export async function ask(
  pair: Pair,
  { questions }: Campaign,
  known: readonly Known[],
): Promise<Outcome> {
  const differences: Difference[] = [];
  for (const { method, path, body, type, accept, edit } of questions) {
    const headers = {
      ...(type === undefined && body === undefined && edit === undefined
        ? {}
        : { "content-type": type ?? "application/json" }),
      ...(accept === undefined ? {} : { accept }),
    };
    const { difference } = await compare(pair, path, {
      method,
      headers,
      body,
      ...(edit === undefined ? {} : { edit }),
    });
    if (difference !== undefined) differences.push({ ...difference, sent: body });
  }
  const groups = groupDifferences(differences);
  const isKnown = ({ parts }: Group) =>
    parts.every((part) => known.some(({ cause }) => cause.test(part)));
  return {
    asked: questions.length,
    known: groups.filter(isKnown),
    unknown: groups.filter((group) => !isKnown(group)),
  };
}

export function countOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { differences }) => sum + differences.length, 0);
}
