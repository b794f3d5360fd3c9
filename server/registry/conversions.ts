/**
 * Conversions between a served and the stored version, where their shapes differ; by served
 * group-version and resource. Versions of one shape need none: their codecs write other names.
 */
import type { Conversion } from "./generic/served-resource.js";

export const CONVERSIONS: Readonly<Record<string, Conversion>> = {};
