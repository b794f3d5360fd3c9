/**
 * Conversions between a served and the stored version whose shapes differ, by served group-version
 * and resource. Versions of the same shape need none: their codecs only write other names.
 */
import type { Naming } from "../api/naming.js";
import type { Conversion } from "../kinds/conversion.js";
import { createAutoscalerConversion } from "./autoscaling/conversion.js";
import { eventConversion } from "./events/conversion.js";
import {
  claimConversion,
  claimTemplateConversion,
  sliceConversion,
} from "./resource/conversion.js";

/** Groups are spelled as in the facts. */
export function createConversions(naming: Naming): Readonly<Record<string, Conversion>> {
  return {
    "autoscaling/v1/horizontalpodautoscalers": createAutoscalerConversion(naming),
    "events/v1/events": eventConversion,
    "resource/v1beta1/resourceclaims": claimConversion,
    "resource/v1beta1/resourceclaimtemplates": claimTemplateConversion,
    "resource/v1beta1/resourceslices": sliceConversion,
  };
}
