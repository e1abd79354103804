/** Current and former action names of section 6, and actions of administrators, without separators. */
const knownActions =
  /(?:CREATE|READ|ACKNOWLEDGEREAD|UPDATE|ACKNOWLEDGEUPDATE|DELETE|REGISTER|STARTUSE|COMPLETEUSE|LOCK|UNLOCK)VAULT|APIKEYCHECK|ADDRESSCHECK/;
const uuid = /^[0-9a-f-]{36}$/i;
const uuidInPath = /\/([0-9a-f-]{36})(?![0-9a-f-])/i;
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/;
const ipv6 = /^(?=[^:]*:[^:]*:)(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{0,4}|[\d.]{7,15})(?:%[\w.]+)?$/i;
const endpoint = /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) +(?:https?:\/\/|\/)|\/vault\//i;
const outcome =
  /^(?:true|false|[1-5]\d\d)$|succe|fail|error|^ok$|^ko$|denied|refus|reject|invalid|accept|granted|unauthori|forbidden/i;

/** Whether a value is a known action in any spelling (`READ_VAULT`, `Read vault`, `readVault`). */
export const looksLikeAction = (value: string): boolean =>
  value.length <= 200 && knownActions.test(value.replaceAll(/[^A-Za-z]/g, "").toUpperCase());

/** Section 2: whether a value has 36 hexadecimal digits and dashes. */
export const looksLikeUuid = (value: string): boolean => value.length === 36 && uuid.test(value);

/** Parses a uuid, also in braces or without dashes. Returns it in lower case, or null. */
export function uuidOf(value: string): string | null {
  const text = value
    .trim()
    .toLowerCase()
    .replace(/^\{(.*)\}$/, "$1");
  if (looksLikeUuid(text)) return text;
  return /^[0-9a-f]{32}$/.test(text)
    ? text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
    : null;
}

/** Whether a value is an IPv4 or IPv6 address, also with a port, in brackets, or at the start of a list of forwarders. */
export function looksLikeAddress(value: string): boolean {
  if (value.length > 200) return false;
  const first = (value.split(",", 1)[0] ?? "").trim();
  const bare = first.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
  return ipv4.test(bare) || ipv6.test(bare);
}

/** Whether a value is like `POST /vault/…`, or a path or URL with `/vault/` in it. */
export const looksLikeEndpoint = (value: string): boolean =>
  value.length <= 4096 && endpoint.test(value);

export const looksLikeOutcome = (value: string): boolean =>
  value.length <= 60 && outcome.test(value);

/** Returns the uuid in a path (`/vault/credit-card/offline/{uuid}/get-start`) in lower case, or null. */
export const uuidInEndpoint = (value: string): string | null =>
  uuidInPath.exec(value)?.[1]?.toLowerCase() ?? null;

/** Whether an endpoint belongs to a generic vault (section 4). */
export const isGenericEndpoint = (endpoint: string | null | undefined): boolean =>
  endpoint?.includes("/generic/") === true;
