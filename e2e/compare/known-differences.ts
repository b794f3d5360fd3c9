/** Differences that are meant, each with its reason. A group of which a part is none of these is unknown. */
import type { Known } from "./group-differences.js";

/** How refusals without causes begin whose words are our own. */
const OWN_WORDS = [
  "error decoding patch: a (?:merge|JSON) patch ",
  "the server rejected our request due to an error in our request: ",
  "the name of the object \\(\\S+ based on URL\\) was undeterminable: ",
  "field label not supported: nowhere",
  "the body of the request was in an unknown format",
  'CertificateSigningRequest in version \\\\"v1\\\\" cannot be handled',
  'Secret in version \\\\"v1\\\\" cannot be handled',
  "Operation cannot be fulfilled on \\S+ \\S+ the UID in the precondition ",
  "limit: Invalid value: ",
  "continue key is not valid",
  "resourceVersion: Invalid value: ",
  "the object provided is unrecognized ",
  "couldn't get version/kind; json parse error: ",
  "the API version in the data ",
].join("|");

export const KNOWN_DIFFERENCES: readonly Known[] = [
  {
    cause: new RegExp(`^[A-Z]+ \\S+: message: "(?:${OWN_WORDS})`),
    reason: "a refusal without causes has words of its own, which tell more (decision 26)",
  },
  {
    cause: /^\S+ \S+: told 1 times for \d+: /,
    reason:
      "a mistake is one cause here; the peer tells it once for each rule and each pass that meets it",
  },
  {
    cause: /^\S+ \S+: values of causes are shown otherwise$/,
    reason: "an object in a message is shown as clients know it; the peer shows it as it holds it",
  },
  {
    cause: /^PATCH \S+: only (?:here|there): patch: FieldValueInvalid: /,
    reason: "a patched object that is no object of its kind is shown with other members first",
  },
  {
    cause:
      /metadata\.finalizers: nothing for an object|^DELETE \S+: \.metadata\.deletion(?:Timestamp|GracePeriodSeconds): nothing for /,
    reason:
      "protection of volumes is off without the controllers that end it (docs/use/admission.md)",
  },
  {
    cause: /certificatesigningrequests: (?:\S*\.spec\.(?:username|extra|groups)|\.rows)/,
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
  {
    cause:
      /^(?:GET \S+: \.rows\[\]\.cells\[\]|(?:GET|PATCH|PUT) persistentvolumes: \S*\.status\.lastPhaseTransitionTime): "\d{4}-\S+" for "\d{4}-\S+"$/,
    reason: "the two objects were made at different times",
  },
  {
    cause: /^\S+ events: \.details\.group: "events\.k8s\.io" for nothing$/,
    reason: "a refusal names the group that was asked; the peer names the older group of events",
  },
  {
    cause: /^GET daemonsets: \S+\.metadata\.annotations: an object for nothing$/,
    reason:
      "the template's generation is shown wherever metadata is; the peer leaves it out of rows and partial objects",
  },
  {
    cause:
      /^(?:GET|PATCH|PUT) validatingadmissionpolicies: \S*\.status\.(?:observedGeneration|typeChecking): /,
    reason: "types of expressions are checked here without a controller",
  },
  {
    cause: /^DELETE \S+: \.details\.(?:kind|name|group): /,
    reason: "a refused delete names the object's kind",
  },
  {
    cause: /^POST (?:self)?subject\w*reviews: \.details\.kind: "\w+" for nothing$/,
    reason: "a refused review names its kind",
  },
];
