import { BlockList, isIPv4 } from "node:net";

/** Section 5.5: whether an entry is an IPv4 address or a CIDR range, like `10.1.0.0/16`. */
export function isWhitelistEntry(entry: unknown): entry is string {
  if (typeof entry !== "string") return false;
  const [address = "", bits = "32", ...more] = entry.split("/");
  return isIPv4(address) && /^\d{1,2}$/.test(bits) && Number(bits) <= 32 && more.length === 0;
}

/** Whether an address is in one of the ranges. An empty list allows every address. */
export function isWhitelisted(remoteAddress: string, entries: readonly string[]): boolean {
  if (entries.length === 0) return true;
  const address = remoteAddress.replace(/^::ffff:/i, "");
  const ranges = new BlockList();
  for (const entry of entries) {
    const [network = "", bits = "32"] = entry.split("/");
    ranges.addSubnet(network, Number(bits), "ipv4");
  }
  return isIPv4(address) && ranges.check(address, "ipv4");
}
