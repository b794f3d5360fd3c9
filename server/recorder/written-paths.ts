/** The paths of the fields that a write has changed, bounded, and of confidential kinds without names of keys. */
import { compareFields, type FieldSteps, formatFieldPath } from "../api/changed-fields.js";

export interface WrittenPaths {
  readonly paths: readonly string[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

export const PATHS_MAX = 64;
const PATH_CHARS_MAX = 256;

/** Nothing is known of them, or everything is new. */
export const NO_PATHS: WrittenPaths = { paths: [], hasMore: false };

/** @param isConfidential whether names of keys may say something */
export function writtenPaths(before: object, after: object, isConfidential: boolean): WrittenPaths {
  const paths: string[] = [];
  let last = "";
  const isComplete = compareFields(before, after, (steps) => {
    const path = toPath(isConfidential ? shortened(steps) : steps);
    if (path === last) return true;
    last = path;
    paths.push(path);
    return paths.length < PATHS_MAX;
  });
  return { paths, hasMore: !isComplete };
}

function toPath(steps: FieldSteps): string {
  const path = formatFieldPath(steps);
  return path.length > PATH_CHARS_MAX ? path.slice(0, PATH_CHARS_MAX) : path;
}

/** Members of metadata have names that the API gives; what is in annotations does not. */
function shortened(steps: FieldSteps): FieldSteps {
  return steps.slice(0, steps[0] === "metadata" ? 2 : 1);
}
