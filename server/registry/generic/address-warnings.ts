/**
 * Warnings about addresses and blocks that are taken in spellings that others may read otherwise: leading zeros,
 * IPv4 within IPv6, and IPv6 not as RFC 5952 has it. Texts that are no addresses are not warned about.
 */
import {
  formatIp,
  type IpAddress,
  isCanonicalV4Block,
  isCanonicalV6,
  isCanonicalV6Block,
  isMappedIp,
  parseBlock,
  parseIp,
  unmappedIp,
} from "../../api/ip-address.js";
import type { ApiObject } from "../../api/meta.js";
import { ipVersion, type Maybe } from "../../api/validation-values.js";
import { WarningList } from "./warning-list.js";

/** An IPv4 address in its one canonical spelling, as nearly all are: it needs no further look. */
const CANONICAL_V4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

export function warnOfAddress(text: string, field: string, warnings: WarningList): void {
  if (warnings.isFull || CANONICAL_V4.test(text) || isCanonicalV6(text)) return;
  const address = parseIp(text);
  if (address === undefined) return;
  const canonical = formatIp(unmappedIp(address));
  if (canonical === text) return;
  const [sent, use] = [JSON.stringify(text), JSON.stringify(canonical)];
  warnings.add(
    address.version === 4 || isMappedIp(address)
      ? `${field}: non-standard IP address ${sent} is invalid: use ${use}`
      : `${field}: IPv6 address ${sent} should be in RFC 5952 canonical format (${use})`,
  );
}

/** A block may stand for its first address alone where it has bits behind its prefix. */
export function warnOfBlock(text: string, field: string, warnings: WarningList): void {
  if (warnings.isFull || isCanonicalV4Block(text) || isCanonicalV6Block(text)) return;
  const block = parseBlock(text);
  if (block === undefined) return;
  const [ip = "", length = ""] = text.split("/");
  const address = parseIp(ip) as IpAddress;
  const sent = JSON.stringify(text);
  const mapped = isMappedIp(address) && block.bits >= MAPPED_BITS ? MAPPED_BITS : 0;
  const first = { version: block.version, value: block.first };
  const shown = mapped > 0 ? unmappedIp(first) : first;
  const use = JSON.stringify(`${formatIp(shown)}/${block.bits - mapped}`);
  const hasMoreBits = address.value !== block.first;
  if (hasMoreBits) {
    const width = shown.version === 4 ? 32 : 128;
    const single = JSON.stringify(`${formatIp(unmappedIp(address))}/${width}`);
    warnings.add(
      `${field}: CIDR value ${sent} is ambiguous in this context (should be ${use} or ${single}?)`,
    );
  }
  const isPadded = ipVersion(ip) === 0 || (length.length > 1 && length.startsWith("0"));
  if (isPadded || isMappedIp(address)) {
    warnings.add(`${field}: non-standard CIDR value ${sent} is invalid: use ${use}`);
  } else if (!hasMoreBits && JSON.stringify(text) !== use) {
    warnings.add(
      `${field}: IPv6 CIDR value ${sent} should be in RFC 5952 canonical format (${use})`,
    );
  }
}

/** Bits of the prefix of all IPv4 addresses in IPv6. */
const MAPPED_BITS = 96;

interface Balanced extends ApiObject {
  readonly status?: Maybe<{
    readonly loadBalancer?: Maybe<{
      readonly ingress?: Maybe<readonly { readonly ip?: string }[]>;
    }>;
  }>;
}

/** Of the addresses that a load balancer reports, in the status of a Service or an Ingress. */
export function balancerWarnings(next: ApiObject): readonly string[] {
  const { status } = next as Balanced;
  const warnings = new WarningList();
  (status?.loadBalancer?.ingress ?? []).forEach(({ ip = "" }, index) => {
    warnOfAddress(ip, `status.loadBalancer.ingress[${index}]`, warnings);
  });
  return warnings.texts;
}
