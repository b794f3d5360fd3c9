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
    cause:
      /^(?:PATCH|PUT) \S+: told 1 times for [2-4]: metadata\.(?:labels|annotations|finalizers\[\]): /,
    reason:
      "a mistake in metadata is one cause here; the peer tells it once for each of the two to four passes that its kinds make over it",
  },
  {
    cause:
      /: only there: \S*\.(?:volumeClaimTemplate\.metadata\.(?:finalizers|ownerReferences|managedFields)|ephemeralContainers\[\]\.resources): FieldValueForbidden: Forbidden: cannot be set/,
    reason: "an empty list counts as none, where it may not be set as well",
  },
  {
    cause: /^PUT replicationcontrollers: warnings: "299 - (?:.*)spec\.template\..* for ""$/,
    reason:
      "an update is told the warnings of its template; the peer gives those of the template before, as it takes one for the other",
  },
  {
    cause: /^POST pods: 403 for 500$/,
    reason: "a class of run times with an empty name is not there; the peer fails to look it up",
  },
  {
    cause:
      /^POST pods: (?:\.spec\.volumes\[\]\.name|\.spec\.containers\[\]\.volumeMounts\[\]\.name): "kube-api-access-\w+" for "kube-api-access-\w+"$/,
    reason: "the volume of a token has a random name",
  },
  {
    cause: /^(?:POST|PUT) services: \.spec\.ports\[\]\.nodePort: "\d+" for "\d+"$/,
    reason: "a port is chosen at random",
  },
  {
    cause: /^POST pods: \.spec\.volumes\[\]\.projected\.sources\[\]: nothing for an object$/,
    reason: "the peer's distribution mounts a certificate of its own beside each token",
  },
  {
    cause: /^POST services: \.spec\.clusterIPs?(?:\[\])?: "address" for "198\.51\.100\.\d+"$/,
    reason: "the peer gives addresses of the block that stands there for the questions, too",
  },
  {
    cause:
      /^PATCH \S+: (?:only (?:here|there)|shown otherwise): patch: FieldValueInvalid: Invalid value: /,
    reason: "a patched object that is no object of its kind is shown with other members first",
  },
  {
    cause:
      /^PUT (?:pods|persistentvolumeclaims|persistentvolumes): shown otherwise: spec(?:\.persistentvolumesource)?: FieldValueForbidden: /,
    reason:
      "below a refusal's first line stands what changed, with the fields of the API; the peer shows them with the names and empty members of its memory",
  },
  {
    cause:
      /^PUT (?:jobs: shown otherwise: spec\.(?:template|podFailurePolicy|successPolicy)|volumeattachments: shown otherwise: spec): FieldValueInvalid: Invalid value: …: field is immutable$/,
    reason:
      "a template, policy or volume in a message has the fields of the API; the peer shows all members of its memory, with the names that they have there",
  },
  {
    cause:
      /metadata\.finalizers: nothing for an object|^DELETE \S+: \.metadata\.deletion(?:Timestamp|GracePeriodSeconds): nothing for /,
    reason:
      "protection of volumes is off without the controllers that end it (docs/use/admission.md)",
  },
  {
    cause:
      /certificatesigningrequests(?:\/status)?: (?:\S*\.spec\.(?:username|extra|groups)|\.rows)/,
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
      /^(?:GET \S+: \.rows\[\]\.cells\[\]|(?:GET|PATCH|POST|PUT) persistentvolumes(?:\/status)?: \S*\.status\.lastPhaseTransitionTime): "\d{4}-\S+" for "\d{4}-\S+"$/,
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
  {
    cause:
      /^(?:POST|PUT) resourceclaimtemplates: (?:20[01] for 422|(?:only there|told \d times for \d): spec\.metadata\.(?:finalizers|ownerReferences|managedFields): FieldValueForbidden: )/,
    reason: "an empty list counts as none, where it may not be set as well",
  },
  {
    cause:
      /^(?:POST|PUT) (?:pods|podtemplates|deployments|(?:daemon|replica|stateful)sets|replicationcontrollers|(?:cron)?jobs): (?:20[01] for 422|only there: \S*spec\.resources\.claims: FieldValueForbidden: )/,
    reason: "an empty list counts as none, where it may not be set as well",
  },
  {
    cause:
      /^(?:PUT|PATCH) (?:endpointslices|networkpolicies|(?:mutating|validating)webhookconfigurations): (?:\.metadata\.generation: "1" for "2"|only there: \.ports: FieldManagerConflict: )/,
    reason: "an empty list is no change from none, and nobody's to own",
  },
  {
    cause:
      /^(?:POST|PUT) customresourcedefinitions: (?:(?:200|201|409) for 422|only there: spec\.validation\.openAPIV3Schema\.\S*(?:\$ref|x-kubernetes-(?:map|list)-type): FieldValueForbidden: )/,
    reason: "an empty text counts as none, where any text is refused as well",
  },
  {
    cause:
      /^(?:POST|PUT) customresourcedefinitions: only there: status\.storedVersions: FieldValueInvalid: /,
    reason: "two storage versions are one mistake, which is told of the versions",
  },
  {
    cause:
      /^PUT resourceclaims: (?:only here: spec\.devices\.\S+: FieldValue(?:Required: Required value$|NotSupported: )|shown otherwise: spec: FieldValueInvalid: )/,
    reason:
      "a spec that may not change is told what it lacks as well; the object in a message has the fields of the API",
  },
  {
    cause: /^PUT resourceclaimtemplates: shown otherwise: spec: FieldValueInvalid: /,
    reason: "the object in a message has the fields of the API",
  },
  {
    cause:
      /^(?:POST|PUT) resourceclaim(?:template)?s(?:\/status)?: only there: (?:spec\.devices\.requests|status\.allocation\.devices\.results)\[\]\.adminAccess: FieldValueForbidden: /,
    reason: "administrators' access is judged of a claim that keeps the rules",
  },
  {
    cause:
      /^PUT services: (?:only here: spec\.(?:clusterIPs|ipFamilies)\[\]: FieldValueInvalid: Invalid value: …: may not change once set|shown otherwise: spec\.clusterIPs\[\]: FieldValueInvalid: Invalid value: …: expected an IP)/,
    reason:
      "what the allocator of addresses refuses is told with the rules, about the address that this server gave; the peer tells the first alone",
  },
  {
    cause:
      /^(?:POST|PUT) (?:\w+): shown otherwise: \S*(?:onExitCodes\.values|nodeSelectorTerms|successPolicy|cidrs): FieldValueInvalid: Invalid value: …: (?:at least one value is required|must have exactly one node selector term|requires indexed completion mode|field is immutable)$/,
    reason:
      "a list that is absent is null in a message; the peer has an empty one, and null for others",
  },
  {
    cause: /^POST selfsubjectaccessreviews: shown otherwise: spec\.nonResourceAttributes: /,
    reason: "the object in a message has the fields of the API",
  },
  {
    cause: /^GET ipaddresses: \.rows\[\]\.cells\[\]: nothing for "T"$/,
    reason: "a row has as many cells as there are columns; the peer's has one more",
  },
  {
    cause: /^GET \/apis\/apiextensions\.k8s\.io\/v1: \.resources\[\]\.storageVersionHash: /,
    reason: "definitions are stored as v1; the peer stores v1beta1 (docs/use/api-coverage.md)",
  },
  {
    cause: /^DELETE resourcequotas: \.status\.(?:hard|used): an object for nothing$/,
    reason: "usage is counted here without a controller",
  },
  {
    cause:
      /^DELETE customresourcedefinitions: (?:message: "Operation cannot be fulfilled on |\.details\.)/,
    reason: "a refused delete names the object's kind",
  },
  {
    cause:
      /^PATCH configmaps: (?:message: "the body of the request was in an unknown format - |\.details: nothing for an object)/,
    reason: "a patch of a media type that is not taken is told those that are",
  },
  {
    cause:
      /^POST configmaps: only (?:here|there): dryRun: FieldValueNotSupported: Unsupported value: /,
    reason: "the value in the message is the one that was sent; the peer shows a list of it",
  },
  {
    cause:
      /^(?:POST|PUT) mutatingadmissionpolic(?:ies|ybindings): only there: spec\.match\w+\.resourceRules\.operations: FieldValueNotSupported: /,
    reason: "an operation that is none is told once, with its index",
  },
  {
    cause:
      /^POST customresourcedefinitions: (?:422 for 0$|only here: (?:.*selectableFields|spec\.versions\[\]\.schema\.openAPIV3Schema: FieldValueRequired))/,
    reason: "the peer ends the connection over a selectable field of a schema that has none",
  },
  {
    cause: /^POST customresourcedefinitions: shown otherwise: spec\.validation\.openAPIV3Schema: /,
    reason: "a schema in a message has the fields of the API",
  },
  {
    cause: /^(?:POST|PATCH) cars: warnings: "" for "299 - \\"unknown field /,
    reason: "a body of another version is refused, and its fields are not looked at",
  },
  {
    cause: /^GET cars: \.metadata\.continue: /,
    reason: "a token of a list is each server's own",
  },
  {
    cause: /^PATCH cars: (?:400 for 500$|message: "failed to create typed patch object )/,
    reason: "an applied field that no schema has is the client's mistake; the peer answers 500",
  },
  {
    cause:
      /^POST numbers: (?:201 for 422|only there: spec: FieldValueInvalid: Invalid value: …: invalid data, expected int, got float)/,
    reason:
      "a whole number with a fraction of zero is an integer for rules, too; the peer takes it as one until a rule reads it (docs/use/api-coverage.md)",
  },
  {
    cause:
      /^POST customresourcedefinitions: only there: \S+\.x-kubernetes-validations: InternalError: Internal error: internal error: failed to construct type information/,
    reason:
      "a rule below a type that is none: the type is told here, the peer adds that what is below it has none either",
  },
  {
    cause: /^(?:GET|PATCH) kinds\d+: \S*\[\]\S*: "null" for nothing$/,
    reason:
      "a merge patch replaces a list by the one that was sent, as RFC 7386 says; the peer takes nulls out of its objects (C-13)",
  },
  {
    cause: /^(?:GET|PATCH) kinds\d+: (?:\.items\[\])?\.metadata\.generation: "\d+" for "\d+"$/,
    reason:
      "an applied member that is pruned changes nothing; the peer counts a generation each time it is applied, before it prunes",
  },
];
