/** What the view says against the Service behind an APIService, before anybody connects to it. */
import { endpointsOf, isClusterService, type Services, serviceSpec } from "../outbound/services.js";
import type { RemoteService } from "./api-services.js";

/** A reason of the condition Available. */
export class ServiceProblem extends Error {
  override readonly name = "ServiceProblem";
  readonly reason:
    | "ServiceNotFound"
    | "ServicePortError"
    | "EndpointsNotFound"
    | "MissingEndpoints";

  constructor(reason: ServiceProblem["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** @throws {ServiceProblem} */
export function checkService(
  services: Services,
  { namespace, service: name, port }: Pick<RemoteService, "namespace" | "service" | "port">,
): void {
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  const spec = serviceSpec(services.view, namespace, name);
  if (spec === undefined) throw new ServiceProblem("ServiceNotFound", `${where} is not present`);
  if (!isClusterService(spec)) return;
  const found = spec.ports?.find((one) => one.port === port);
  if (found === undefined) {
    throw new ServiceProblem("ServicePortError", `${where} is not listening on port ${port}`);
  }
  const portName = found.name ?? "";
  const endpoints = endpointsOf(services, namespace, name, portName);
  if (endpoints === undefined) {
    throw new ServiceProblem("EndpointsNotFound", `cannot find endpointslices for ${where}`);
  }
  if (endpoints.length === 0) {
    const why = `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`;
    throw new ServiceProblem("MissingEndpoints", why);
  }
}
