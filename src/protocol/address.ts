/** Whether the host of a URL (IPv6 in brackets) is this machine. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|127(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])$/.test(hostname);

/** The address of a shared state without its password, which is never stored or shown: up to the last @, for one that has too many. */
export const withoutPassword = (address: string): string =>
  address.replace(/^(postgres(?:ql)?:\/\/[^:@]*):.*@/is, "$1@");
