/** The audit items of section 6 by their current and former names, and those of an administrator, without separators. */
const knownActions =
  /(?:CREATE|READ|ACKNOWLEDGEREAD|UPDATE|ACKNOWLEDGEUPDATE|DELETE|REGISTER|STARTUSE|COMPLETEUSE|LOCK|UNLOCK)VAULT|APIKEYCHECK|ADDRESSCHECK/;
const uuid = /^[0-9a-f-]{36}$/i;
const uuidInPath = /\/([0-9a-f-]{36})(?![0-9a-f-])/i;
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/;
const ipv6 = /^(?=[^:]*:[^:]*:)(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{0,4}|[\d.]{7,15})(?:%[\w.]+)?$/i;
const endpoint = /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) +(?:https?:\/\/|\/)|\/vault\//i;
const outcome = /^(?:true|false|[1-5]\d\d)$|succe|fail|error|^ok$|^ko$|denied|refus|reject|invalid|accept|granted|unauthori|forbidden/i;

/** Whether a value is a known audit item, in whatever spelling (`READ_VAULT`, `Read vault`, `readVault`). */
export const looksLikeAction = (value: string): boolean =>
  value.length <= 200 && knownActions.test(value.replaceAll(/[^A-Za-z]/g, "").toUpperCase());

/** Section 2: 36 characters of hexadecimal digits and dashes. */
export const looksLikeUuid = (value: string): boolean => value.length === 36 && uuid.test(value);

/** The uuid that a value is, in lower case; one in braces or without its dashes is one too. Null for what is none. */
export function uuidOf(value: string): string | null {
  const text = value
    .trim()
    .toLowerCase()
    .replace(/^\{(.*)\}$/, "$1");
  if (looksLikeUuid(text)) return text;
  return /^[0-9a-f]{32}$/.test(text) ? text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") : null;
}

/** IPv4 or IPv6, also with a port, in brackets, or the first of a list of forwarders. */
export function looksLikeAddress(value: string): boolean {
  if (value.length > 200) return false;
  const first = (value.split(",", 1)[0] ?? "").trim();
  const bare = first.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
  return ipv4.test(bare) || ipv6.test(bare);
}

/** `POST /vault/…`, or a path or address with `/vault/` in it. */
export const looksLikeEndpoint = (value: string): boolean => value.length <= 4096 && endpoint.test(value);

export const looksLikeOutcome = (value: string): boolean => value.length <= 60 && outcome.test(value);

/** The uuid in a path (`/vault/credit-card/offline/{uuid}/get-start`), in lower case, or null. */
export const uuidInEndpoint = (value: string): string | null => uuidInPath.exec(value)?.[1]?.toLowerCase() ?? null;

/** Whether an endpoint is one of a vault of a generic kind (section 4). */
export const isGenericEndpoint = (endpoint: string | null | undefined): boolean => endpoint?.includes("/generic/") === true;
