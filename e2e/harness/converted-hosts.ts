/** The kind Host of example.com, whose versions a webhook converts. */

import type {
  StubAnswer,
  StubCall,
  WebhookStub,
} from "../../server/client/testing/webhook-stub.js";
import { definitionOf } from "../fixtures/definitions.js";
import type { ApiObject } from "./https-client.js";

export interface ConversionReview {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly (ApiObject & { spec: Readonly<Record<string, unknown>> })[];
  };
}

/** @param versions of the definition's spec */
export function hostsConvertedBy({ url, ca }: WebhookStub, versions: readonly object[]): object {
  const clientConfig = { url, caBundle: Buffer.from(ca).toString("base64") };
  const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
  return definitionOf("hosts.example.com", "Host", {
    conversion: { strategy: "Webhook", webhook },
    versions,
  });
}

/** The webhook's answer. @param convert one object to the wanted version */
export function answerConversion(
  { body }: StubCall,
  convert: (
    object: ConversionReview["request"]["objects"][number],
    apiVersion: string,
  ) => ApiObject,
): StubAnswer {
  const { request } = body as unknown as ConversionReview;
  const { uid, desiredAPIVersion: apiVersion, objects } = request;
  const convertedObjects = objects.map((object) => convert(object, apiVersion));
  const response = { uid, result: { status: "Success" }, convertedObjects };
  return { body: { ...body, response } };
}
