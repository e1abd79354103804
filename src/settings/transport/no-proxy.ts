import { BlockList, isIP } from "node:net";

/**
 * Whether a list in the form of NO_PROXY names the host of `target`: entries separated by commas or spaces, each `*`, a
 * host name (which stands for all names below it too, with or without a dot in front), an address or a CIDR range, with
 * or without a port.
 */
export function isInNoProxy(target: URL, list: string): boolean {
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

/** Without the brackets of IPv6, and without the dot at the end of a whole name. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

/** `host:443`, `[::1]:443`, `[::1]`; an IPv6 address without brackets has no port. */
function splitPort(entry: string): { name: string; onlyPort?: string } {
  const [, name, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
  return name !== undefined && port !== undefined ? { name: bare(name), onlyPort: port } : { name: bare(entry) };
}

/** What is neither an address nor a range is in none. */
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
