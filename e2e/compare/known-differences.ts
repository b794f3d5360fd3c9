/** Differences that are meant, each with its reason. A group that none of these matches is unknown. */
import type { Known } from "./group-differences.js";

export const KNOWN_DIFFERENCES: readonly Known[] = [
  {
    cause: /^(?:PATCH|POST|GET|PUT) \S+: message: /,
    reason: "a refusal without causes has words of its own, which tell more (decision 26)",
  },
  {
    cause: /^(?:PATCH|PUT) \S+: \.details\.causes\[\]: nothing for .*\\"field\\":\\"metadata\./,
    reason: "the peer tells of problems of metadata twice, once for each of its two passes",
  },
  {
    cause: /only here: patch: .*only there: patch: |\\"field\\":\\"patch\\"/,
    reason: "a patched object that is no object of its kind is shown with other members first",
  },
  {
    cause: /metadata\.finalizers: nothing for an object|^DELETE \S+: \.metadata\.deletionTimestamp/,
    reason:
      "protection of volumes is off without the controllers that end it (docs/use/admission.md)",
  },
  {
    cause: /certificatesigningrequests: (?:\S*\.spec\.username|\.rows)/,
    reason: "the two are asked by users of different names",
  },
  {
    cause: /^(?:GET|PATCH|PUT) resourcequotas: .*(?:status|rows)/,
    reason: "usage is counted here without a controller",
  },
  {
    cause: /^GET \S+: : an object for "404 page not found/,
    reason: "a path that is not there is a Status for every client here",
  },
];
