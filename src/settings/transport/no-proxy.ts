import { BlockList, isIP } from "node:net";

/**
 * Whether a list in the form of NO_PROXY matches the host of `target`. Entries are separated by commas or spaces; each is `*`, a
 * host name (with or without a leading dot, and matching all names below it), an address or a CIDR range, with or without a port.
 */
export function matchesNoProxy(target: URL, list: string): boolean {
  const host = bare(target.hostname);
  const port = target.port === "" ? (target.protocol === "https:" ? "443" : "80") : target.port;
  const entries = list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "");
  return entries.some((entry) => {
    if (entry === "*") return true;
    const { name, onlyPort } = splitPort(entry);
    if (onlyPort !== undefined && onlyPort !== port) return false;
    if (isIP(host) !== 0) return isInRange(host, name);
    const suffix = name.replace(/^\*?\./, "").replace(/\.$/, "");
    return suffix !== "" && (host === suffix || host.endsWith(`.${suffix}`));
  });
}

/** A host name without the brackets of IPv6 and without a final dot. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

/** `host:443`, `[::1]:443`, `[::1]`; an IPv6 address without brackets has no port. */
function splitPort(entry: string): { name: string; onlyPort?: string } {
  const [, name, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  return name !== undefined && port !== undefined
    ? { name: bare(name), onlyPort: port }
    : { name: bare(entry) };
}

/** Whether an address is in a range; false if the range is not valid. */
function isInRange(address: string, range: string): boolean {
  const [net = "", bits, ...more] = range.split("/");
  const family = isIP(net);
  if (family === 0 || more.length > 0) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const longest = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? longest : Number(bits);
  if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || prefix > longest)) return false;
  const ranges = new BlockList();
  ranges.addSubnet(net, prefix, type);
  return ranges.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
