/**
 * Fields of slices behind gates that are off in 1.36 and have nothing here: they are dropped on a write,
 * unless the stored slice has them (DRAListTypeAttributes, DRANodeAllocatableResources).
 */
import type { Device, DeviceAttribute, ResourceSlice } from "./device-types.js";

/** Changes `next`. @param current undefined for a new slice */
export function dropDisabledFields(next: ResourceSlice, current: ResourceSlice | undefined): void {
  const { spec } = next;
  const devices = spec?.devices ?? [];
  const before = current?.spec?.devices ?? [];
  const dropsLists = devices.some(hasLists) && !before.some(hasLists);
  const dropsMappings = devices.some(hasMappings) && !before.some(hasMappings);
  if (!dropsLists && !dropsMappings) return;
  const kept = devices.map((device) => {
    const one = dropsLists ? withoutLists(device) : device;
    return dropsMappings ? withoutMappings(one) : one;
  });
  Object.assign(next, { spec: { ...spec, devices: kept } });
}

function hasLists({ attributes }: Device): boolean {
  return Object.values(attributes ?? {}).some(
    ({ ints, bools, strings, versions }) => ints || bools || strings || versions,
  );
}

function withoutLists(device: Device): Device {
  if (!hasLists(device)) return device;
  const scalars = ({ ints, bools, strings, versions, ...rest }: DeviceAttribute) => rest;
  const attributes = Object.entries(device.attributes ?? {}).map(
    ([name, attribute]) => [name, scalars(attribute)] as const,
  );
  return { ...device, attributes: Object.fromEntries(attributes) };
}

function hasMappings({ nodeAllocatableResourceMappings: mappings }: Device): boolean {
  return Object.keys(mappings ?? {}).length > 0;
}

function withoutMappings({ nodeAllocatableResourceMappings: _, ...device }: Device): Device {
  return device;
}
