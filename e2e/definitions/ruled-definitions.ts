/**
 * Definitions whose rules are as many, and cost as much, as those of gateways and of policies that make
 * objects: loops in loops over bounded lists, presence tests by the dozen, patterns for the keys of maps.
 * They are accepted with room to spare. Our own words, the shape of others.
 */
import type { JsonSchema } from "../../server/structural/json-schema.js";
import { integer, listOf, struct, text } from "./shaped-schemas.js";

type Rule = readonly [rule: string, message: string];

const ruled = (schema: JsonSchema, ...rules: readonly Rule[]): JsonSchema => ({
  ...schema,
  "x-kubernetes-validations": rules.map(([rule, message]) => ({ rule, message })),
});
const bounded = (maxLength: number): JsonSchema => ({ ...text, minLength: 1, maxLength });
const few = (items: JsonSchema, maxItems: number): JsonSchema => listOf(items, { maxItems });

/** The keys of a map have no maximum of their own. */
const annotations = (values: JsonSchema): JsonSchema =>
  ruled(
    { type: "object", additionalProperties: values, maxProperties: 16 },
    ["self.all(key, key.matches('^[a-z0-9A-Z./_-]+$'))", "keys have letters, digits and ./_-"],
    ["self.all(key, key.split('/').size() <= 2)", "keys have one slash at most"],
  );

const certificate = struct(
  { kind: bounded(63), name: bounded(253), namespace: bounded(63) },
  "name",
);
const tls = ruled(
  struct({
    mode: { ...text, enum: ["Terminate", "Passthrough"], default: "Terminate" },
    certificates: few(certificate, 64),
    options: annotations(bounded(4096)),
  }),
  [
    "self.mode == 'Terminate' ? has(self.certificates) && size(self.certificates) > 0 || has(self.options) && size(self.options) > 0 : true",
    "to terminate takes certificates or options",
  ],
);
const listener = struct(
  {
    name: bounded(253),
    hostname: bounded(253),
    port: { ...integer, minimum: 1, maximum: 65535 },
    protocol: bounded(255),
    tls,
  },
  "name",
  "port",
  "protocol",
);
const address = ruled(
  struct({ type: { ...bounded(253), default: "IPAddress" }, value: bounded(253) }, "value"),
  [
    "self.type == 'Hostname' ? self.value.matches('^(\\\\*\\\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$') : true",
    "a hostname is lower case",
  ],
);

export const gatewaySpec: JsonSchema = struct(
  {
    className: bounded(253),
    listeners: {
      ...ruled(
        few(listener, 64),
        [
          "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
          "only what is encrypted has tls",
        ],
        [
          "self.all(l, l.protocol == 'HTTPS' ? !has(l.tls) || l.tls.mode == '' || l.tls.mode == 'Terminate' : true)",
          "HTTPS is terminated",
        ],
        [
          "self.all(l, l.protocol in ['TCP', 'UDP'] ? !has(l.hostname) || l.hostname == '' : true)",
          "TCP and UDP have no hostname",
        ],
        ["self.all(one, self.exists_one(other, one.name == other.name))", "names differ"],
        [
          "self.all(one, self.exists_one(other, one.port == other.port && one.protocol == other.protocol && (has(one.hostname) && has(other.hostname) ? one.hostname == other.hostname : !has(one.hostname) && !has(other.hostname))))",
          "port, protocol and hostname differ",
        ],
      ),
      minItems: 1,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    addresses: ruled(
      few(address, 16),
      [
        "self.all(a, a.type == 'IPAddress' ? self.exists_one(b, b.type == a.type && b.value == a.value) : true)",
        "addresses differ",
      ],
      [
        "self.all(a, a.type == 'Hostname' ? self.exists_one(b, b.type == a.type && b.value == a.value) : true)",
        "hostnames differ",
      ],
    ),
    infrastructure: struct({ labels: annotations(text), annotations: annotations(bounded(4096)) }),
  },
  "className",
  "listeners",
);

/** Of two ways to name what is made, one is taken, with what belongs to it. */
const generated = ruled(
  struct({
    apiVersion: text,
    kind: text,
    name: text,
    namespace: text,
    clone: struct({ name: text, namespace: text }),
    cloneList: struct({
      kinds: few(text, 16),
      selector: { type: "object", additionalProperties: text },
    }),
    data: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  }),
  [
    "has(self.data) || has(self.clone) || has(self.cloneList)",
    "what is made has data, a clone or a list of clones",
  ],
  ["!(has(self.clone) && has(self.cloneList))", "clone and cloneList exclude each other"],
  [
    "!has(self.cloneList) || !has(self.cloneList.kinds) || self.cloneList.kinds.all(kind, kind.size() > 0)",
    "kinds have names",
  ],
);
export const generatingSpec: JsonSchema = ruled(
  struct({
    rules: few(
      struct({ name: bounded(63), generate: generated, match: few(bounded(253), 16) }, "name"),
      64,
    ),
    variables: few(
      struct({ name: bounded(63), expression: bounded(4096) }, "name", "expression"),
      32,
    ),
  }),
  [
    "!has(self.variables) || self.variables.all(v, self.variables.exists_one(w, v.name == w.name))",
    "variables have names of their own",
  ],
);
