/** Media types of objects and documents; the one of Protobuf depends on the vendor name (naming.ts). */
export const JSON_TYPE = "application/json";
export const YAML_TYPE = "application/yaml";
export const CBOR_TYPE = "application/cbor";
