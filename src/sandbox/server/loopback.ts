/**
 * Whether a request may come in at all. A page of another site could reach a server on loopback through a browser:
 * directly (it sends an `Origin`) or by a name of its own that resolves here (its `Host` is not loopback).
 * Returns the reason of a refusal.
 */
export function refuseForeign(headers: Record<string, string | string[] | undefined>): string | undefined {
  if (headers["origin"] !== undefined) return "requests with an Origin are refused";
  return typeof headers["host"] === "string" && isLoopback(headers["host"]) ? undefined : "the Host must be a loopback address";
}

function isLoopback(host: string): boolean {
  const name = /^(.+?)(?::\d{1,5})?$/.exec(host)?.[1]?.toLowerCase();
  if (name === "localhost" || name === "[::1]") return true;
  const octets = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(name ?? "")?.slice(1);
  return octets?.every((octet) => Number(octet) <= 255) ?? false;
}
