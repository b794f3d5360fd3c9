/**
 * What kube-apiserver says of definitions that it refuses: each cause with its field and words, as its
 * own server of release 1.36 answered them (`npm run test:upstream` asks both again).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOf } from "../testing/problems.js";
import { REFUSED, withoutVersions } from "./testing/refused-definitions.js";

const DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions";

/** Sorted; none = it is taken, odd as it is. */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  "a name that is not plural and group": [
    'metadata.name: Invalid value: "others.example.com": must be spec.names.plural+"."+spec.group',
  ],
  "no group": [
    "metadata.name: Invalid value: \"things.\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    "spec.group: Required value",
  ],
  "a group of one word": [
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  "a group in capitals": [
    "metadata.name: Invalid value: \"things.Example.com\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    "spec.group: Invalid value: \"Example.com\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  "no scope": ["spec.scope: Required value"],
  "a scope that is none": [
    'spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"',
  ],
  "no versions": [
    "spec.versions: Invalid value: [...]: must have exactly one version marked as storage version",
    "status.storedVersions: Invalid value: null: must have at least one stored version",
  ],
  "versions without a stored one": [
    "spec.versions: Invalid value: [...]: must have exactly one version marked as storage version",
    "status.storedVersions: Invalid value: null: must have at least one stored version",
  ],
  "two stored versions": [
    "spec.versions: Invalid value: [...]: must have exactly one version marked as storage version",
    'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
  ],
  "a version twice": ["spec.versions: Invalid value: [...]: must contain unique version names"],
  "a version with a bad name": [
    "spec.version: Invalid value: \"1.0\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    "spec.versions[0].name: Invalid value: \"1.0\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a version without a name": [
    "spec.versions[0].name: Invalid value: \"\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a deprecation warning without deprecation": [
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ],
  "an empty deprecation warning": [
    'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
  ],
  "a deprecation warning in two lines": [
    'spec.versions[0].deprecationWarning: Invalid value: "a\\nb": must only contain printable UTF-8 characters; non-printable character found at index 1',
  ],
  "a deprecation warning that is too long": [
    'spec.versions[0].deprecationWarning: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be <= 256 characters long',
  ],
  "a version without a schema": ["spec.versions[0].schema.openAPIV3Schema: Required value"],
  "an empty schema": ["spec.versions[0].schema.openAPIV3Schema: Required value"],
  "no plural": [
    'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
    "spec.names.plural: Required value",
  ],
  "no kind": [
    "spec.names.kind: Required value",
    "spec.names.listKind: Required value",
    "spec.names.singular: Required value",
  ],
  "a plural in capitals": [
    'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group',
    "spec.names.plural: Invalid value: \"Things\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a singular with a space": [
    "spec.names.singular: Invalid value: \"a thing\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a kind with a dot": [
    "spec.names.kind: Invalid value: \"Thing.X\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    "spec.names.listKind: Invalid value: \"Thing.XList\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    "spec.names.singular: Invalid value: \"thing.x\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "kind and listKind the same": [
    'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
  ],
  "a short name in capitals": [
    "spec.names.shortNames[0]: Invalid value: \"TH\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a category with a slash": [
    "spec.names.categories[0]: Invalid value: \"a/b\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "unknown fields kept by all": [
    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
  ],
  "a conversion that is none": [
    'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
  ],
  "no conversion strategy": ["spec.conversion.strategy: Required value"],
  "a webhook beside the strategy None": [
    "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
    "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
  ],
  "the strategy Webhook without a webhook": [
    "spec.conversion.conversionReviewVersions: Required value",
    "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
  ],
  "a webhook without a client": [
    "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
  ],
  "a webhook without versions": ["spec.conversion.conversionReviewVersions: Required value"],
  "a webhook of unknown versions": [
    'spec.conversion.conversionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
  ],
  "a webhook with a bad version": [
    "spec.conversion.conversionReviewVersions[1]: Invalid value: \"1.0\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  ],
  "a webhook version twice": [
    'spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
  ],
  "a webhook without address": [
    "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
  ],
  "a webhook with two addresses": [
    "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
  ],
  "a webhook over http": [
    "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
  ],
  "a webhook with a query": [
    'spec.conversion.webhookClientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
  ],
  "a webhook with a password": [
    'spec.conversion.webhookClientConfig.url: Invalid value: "a:b": user information is not permitted in the URL',
  ],
  "a webhook service without names": [
    "spec.conversion.webhookClientConfig.service.name: Required value",
    "spec.conversion.webhookClientConfig.service.namespace: Required value",
  ],
  "a webhook service with a bad port": [
    "spec.conversion.webhookClientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
  ],
  "a webhook service with a bad path": [
    "spec.conversion.webhookClientConfig.service.path: Invalid value: \"x//y\": must start with a '/'",
    'spec.conversion.webhookClientConfig.service.path: Invalid value: "x//y": segment[0] may not be empty',
    'spec.conversion.webhookClientConfig.service.path: Invalid value: "x//y": segment[1] may not be empty',
  ],
  "a webhook service with a path in capitals": [
    "spec.conversion.webhookClientConfig.service.path: Invalid value: \"/Convert\": segment[0]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  "a column without a name": ["spec.additionalPrinterColumns[0].name: Required value"],
  "a column without a type": [
    "spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string",
  ],
  "a column of an unknown type": [
    'spec.additionalPrinterColumns[0].type: Invalid value: "object": must be one of boolean,date,integer,number,string',
  ],
  "a column with an unknown format": [
    'spec.additionalPrinterColumns[0].format: Invalid value: "color": must be one of byte,date,date-time,double,float,int32,int64,password',
  ],
  "a column without a path": ["spec.additionalPrinterColumns[0].JSONPath: Required value"],
  "a column with a broken path": [],
  "a column with a path without a dot": [
    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ],
  "a scale without paths": [
    "spec.subresources.scale.specReplicasPath: Required value",
    "spec.subresources.scale.statusReplicasPath: Required value",
  ],
  "a scale of spec in status": [
    'spec.subresources.scale.specReplicasPath: Invalid value: ".status.replicas": should be a json path under .spec',
  ],
  "a scale of status in spec": [
    'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.replicas": should be a json path under .status',
  ],
  "a scale with a list": [],
  "a scale with a selector in metadata": [
    'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.labels": should be a json path under either .spec or .status',
  ],
  "a selectable field without a path": ["spec.selectableFields[0].jsonPath: Required value"],
  "a selectable field that is a list": [
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.l": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ],
  "a selectable field that is not there": [
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
  ],
  "a selectable field of metadata": [
    'spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
  ],
  "a selectable field twice": ['spec.selectableFields[1].jsonPath: Duplicate value: ".spec.a"'],
  "a selectable field in a list": [
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.l[0]": is an invalid path: array notation is not allowed',
  ],
  "selectable fields without a schema": [
    'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
    "spec.versions[0].schema.openAPIV3Schema: Required value",
  ],
  "nine selectable fields": [
    'spec.selectableFields[1].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[2].jsonPath: Invalid value: ".spec.c": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[3].jsonPath: Invalid value: ".spec.d": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[4].jsonPath: Invalid value: ".spec.e": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[5].jsonPath: Invalid value: ".spec.f": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[6].jsonPath: Invalid value: ".spec.g": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[7].jsonPath: Invalid value: ".spec.h": is an invalid path: does not refer to a valid field',
    'spec.selectableFields[8].jsonPath: Invalid value: ".spec.i": is an invalid path: does not refer to a valid field',
  ],
  "a root without a type": [
    "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
  ],
  "a root that is a text": [
    'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
  ],
  "a root that may be null": [
    "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
  ],
  "a member without a type": [
    "spec.validation.openAPIV3Schema.properties[x].type: Required value: must not be empty for specified object fields",
  ],
  "a type that is none": [
    'spec.validation.openAPIV3Schema.properties[x].type: Unsupported value: "money": supported values: "array", "boolean", "integer", "number", "object", "string"',
  ],
  "a list without items": [
    "spec.validation.openAPIV3Schema.properties[x].items: Required value: must be specified",
  ],
  "a list of several items": [
    "spec.validation.openAPIV3Schema.properties[x].items: Forbidden: items must be a schema object and not an array",
  ],
  "additional items of any kind": [
    "spec.validation.openAPIV3Schema.properties[x].additionalItems: Forbidden: additionalItems is not supported",
  ],
  "properties beside additionalProperties": [
    "spec.validation.openAPIV3Schema.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
  ],
  "no additional properties": [],
  "a type inside anyOf": [
    "spec.validation.openAPIV3Schema.properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
  ],
  "a description inside allOf": [
    "spec.validation.openAPIV3Schema.properties[x].allOf[0].description: Forbidden: must be empty to be structural",
  ],
  "a default inside oneOf": [
    "spec.validation.openAPIV3Schema.properties[x].oneOf[0].default: Forbidden: must be undefined to be structural",
  ],
  "nullable inside not": [
    "spec.validation.openAPIV3Schema.properties[x].not.nullable: Forbidden: must be false to be structural",
  ],
  "additionalProperties inside anyOf": [
    "spec.validation.openAPIV3Schema.properties[x].anyOf[0].additionalProperties: Forbidden: must be undefined to be structural",
  ],
  "a reference": [
    "spec.validation.openAPIV3Schema.properties[x].$ref: Forbidden: $ref is not supported",
  ],
  "an id": ["spec.validation.openAPIV3Schema.properties[x].id: Forbidden: id is not supported"],
  definitions: [
    "spec.validation.openAPIV3Schema.properties[x].definitions: Forbidden: definitions is not supported",
  ],
  dependencies: [
    "spec.validation.openAPIV3Schema.properties[x].dependencies: Forbidden: dependencies is not supported",
  ],
  patternProperties: [
    "spec.validation.openAPIV3Schema.properties[x].patternProperties: Forbidden: patternProperties is not supported",
  ],
  additionalItems: [
    "spec.validation.openAPIV3Schema.properties[x].additionalItems: Forbidden: additionalItems is not supported",
  ],
  uniqueItems: [
    "spec.validation.openAPIV3Schema.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
  ],
  "a broken pattern": [
    'spec.validation.openAPIV3Schema.properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
  ],
  "a minimum above the maximum": [],
  "a negative length": [],
  "metadata with a rule of its own": [
    "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
  ],
  "metadata that is a text": [
    'spec.validation.openAPIV3Schema.properties[metadata].type: Invalid value: "string": must be object',
  ],
  "a kind that is a number": [
    'spec.validation.openAPIV3Schema.properties[kind].type: Invalid value: "integer": must be string',
  ],
  "unknown fields not kept": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
  ],
  "unknown fields of a text": [],
  "an embedded resource that is a text": [
    "spec.validation.openAPIV3Schema.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    'spec.validation.openAPIV3Schema.properties[x].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
  ],
  "an embedded resource without members": [
    "spec.validation.openAPIV3Schema.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
  ],
  "an int-or-string with a type": [],
  "an int-or-string inside anyOf": [
    "spec.validation.openAPIV3Schema.properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
    "spec.validation.openAPIV3Schema.properties[x].anyOf[1].type: Forbidden: must be empty to be structural",
  ],
  "a list type of a text": [
    'spec.validation.openAPIV3Schema.properties[x].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
  ],
  "a list type that is none": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
  ],
  "a map list of texts": [
    'spec.validation.openAPIV3Schema.properties[x].items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
  ],
  "a map list without keys": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
  ],
  "a map list with a key that is not there": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-list-map-keys: Invalid value: ["b"]: entries must all be names of item properties',
  ],
  "a map list with an optional key": [
    "spec.validation.openAPIV3Schema.properties[x].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
  ],
  "a map list with a key twice": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-list-map-keys: Invalid value: ["a","a"]: must not contain duplicate entries',
  ],
  "a map list with an object as key": [
    'spec.validation.openAPIV3Schema.properties[x].items.properties[a].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
  ],
  "keys of a list that is no map": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
  ],
  "a set of objects": [
    "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
  ],
  "a set of lists": [],
  "a set of what may be null": [
    "spec.validation.openAPIV3Schema.properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
  ],
  "a map type of a list": [
    'spec.validation.openAPIV3Schema.properties[x].type: Invalid value: "array": must be object if x-kubernetes-map-type is specified',
  ],
  "a map type that is none": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"',
  ],
  "a default of another type": [
    'spec.validation.openAPIV3Schema.properties[x].default: Invalid value: "integer":  in body must be of type string: "integer"',
  ],
  "a default that its format alone judges": [
    'spec.validation.openAPIV3Schema.properties[x].default: Invalid value: "a":  in body must be of type date: "a"',
  ],
  "a default that no format judges": [],
  "a default that is pruned": [
    'spec.validation.openAPIV3Schema.properties[x].default: Invalid value: {"b":1}: must not have unknown fields',
  ],
  "a default beyond the bounds": [
    "spec.validation.openAPIV3Schema.properties[x].default: Invalid value: 4:  in body should be less than or equal to 3",
  ],
  "a default that is null": [],
  "a default outside of the enum": [
    'spec.validation.openAPIV3Schema.properties[x].default: Unsupported value: "b": supported values: "a"',
  ],
  "a default of metadata": [
    "spec.validation.openAPIV3Schema.properties[metadata].default: Forbidden: must not be set in top-level metadata",
  ],
  "a default that breaks its rule": [
    "spec.validation.openAPIV3Schema.properties[x].default: Invalid value: \"b\": failed rule: self == 'a'",
  ],
  "a rule that is empty": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].rule: Required value: rule is not specified",
  ],
  "a rule without an expression": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].rule: Required value: rule is not specified",
  ],
  "a rule with an empty message": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified',
  ],
  "a rule with a message of two lines": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
  ],
  "a rule with a long message": [],
  "a rule of two lines without a message": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].message: Required value: message must be specified if rule contains line breaks",
  ],
  "a rule with an unknown reason": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].reason: Unsupported value: "Whim": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
  ],
  "a rule with a path that is not there": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path',
  ],
  "a rule with a broken path": [
    'spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].fieldPath: Invalid value: "a": must be a valid path',
  ],
  "a rule with an empty message expression": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified",
  ],
  "a rule with optionalOldSelf that has no oldSelf": [
    "spec.validation.openAPIV3Schema.properties[x].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
  ],
  "oldSelf in a list without keys": [
    "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
    "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
    'spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[x]',
    "spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
  ],
  "a rule that costs too much": [
    "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
    "spec.validation.openAPIV3Schema.properties[x].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
    "spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
  ],
  "a group that is protected": [
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
  "a protected group with a broken approval": [
    'metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
};

test("every refused definition has its causes here", () => {
  assert.deepEqual(Object.keys(REFUSED), Object.keys(CAUSES));
});

for (const [what, causes] of Object.entries(CAUSES)) {
  test(`${causes.length === 0 ? "taken" : "refused"}: ${what}`, () => {
    const problems = problemsOf(DEFINITIONS, REFUSED[what] ?? {});
    assert.deepEqual(problems.map(withoutVersions).sort(), causes);
  });
}
