import { isUuid } from "../../protocol/limits.ts";
import { parseTime } from "./times.ts";

/** Current and former action names (docs/interface.md, Audit items), and actions of administrators, without separators. */
const knownActions =
  /(?:CREATE|READ|ACKNOWLEDGEREAD|UPDATE|ACKNOWLEDGEUPDATE|DELETE|REGISTER|STARTUSE|COMPLETEUSE|LOCK|UNLOCK)VAULT|APIKEYCHECK|ADDRESSCHECK/;

/** Whether a value is a known action in any spelling (`READ_VAULT`, `Read vault`, `readVault`). */
export const looksLikeAction = (value: string): boolean =>
  value.length <= 200 && knownActions.test(value.replaceAll(/[^A-Za-z]/g, "").toUpperCase());

/** Parses a uuid, also in braces or without dashes. Returns it in lower case, or null. */
export function uuidOf(value: string): string | null {
  const text = value
    .trim()
    .toLowerCase()
    .replace(/^\{(.*)\}$|^(?:urn:uuid:|vaults?[:/#])/, "$1");
  const dashed = /^[0-9a-f]{32}$/.test(text)
    ? text.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")
    : text;
  return isUuid(dashed) ? dashed : null;
}

/** The uuid after `/vault/`, where others may come before. */
const vaultInPath = /\/vaults?\/(?:[a-z-]{1,30}\/){0,3}([0-9a-f-]{36})(?![0-9a-f-])/i;
const uuidInPath = /\/([0-9a-f-]{36})(?![0-9a-f-])/i;

/** Returns the vault's uuid in a path (`/vault/credit-card/offline/{uuid}/get-start`) in lower case, or null. */
export const uuidInEndpoint = (value: string): string | null =>
  (vaultInPath.exec(value) ?? uuidInPath.exec(value))?.[1]?.toLowerCase() ?? null;

/** Whether a value is like `POST /vault/…`, or a path or URL with `/vault/` in it. */
export const looksLikeEndpoint = (value: string): boolean =>
  value.length <= 4096 &&
  /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) +(?:https?:\/\/|\/)|\/vault\//i.test(value);

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/;
const ipv6 = /^(?=[^:]*:[^:]*:)(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{0,4}|[\d.]{7,15})(?:%[\w.]+)?$/i;

/** Whether a value is an IPv4 or IPv6 address, also with a port, in brackets, or at the start of a list of forwarders. */
export function looksLikeAddress(value: string): boolean {
  if (value.length > 200) return false;
  const first = (value.split(",", 1)[0] ?? "").trim();
  const bare = first.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
  return ipv4.test(bare) || ipv6.test(bare);
}

/** Whether a value can be nothing but an outcome. */
export const isOutcomeWord = (value: string): boolean =>
  /^(?:succe(?:ss|eded)|fail|denied|refused|rejected|accepted|granted|erfolg|fehlgeschlagen|abgelehnt|réussi|échec|échoué|éxito|fall(?:o|ido)$|denegad|rechazad)\p{L}{0,5}$/iu.test(
    value,
  );

/** Whether a value is true or false, or a small number, of which 0 is false. */
export const looksLikeFlag = (value: string): boolean =>
  /^(?:true|false|yes|no|y|n|ja|nein|oui|non|s[ií]|\d\d?)$/i.test(value);

/** Whether a value is the severity of a line of a log. */
export const looksLikeLevel = (value: string): boolean =>
  /^(?:trace|debug|info(?:rmation)?|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe|alert)$/i.test(
    value,
  );

export const isDate = (value: string): boolean =>
  /^\d{4}-\d\d-\d\d$|^\d{1,4}([-/.])\d\d?\1\d{1,4}$/.test(value);

export const isTimeOfDay = (value: string): boolean =>
  /^\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?$/i.test(value);

/** A date beside a time of day, or a number since some day. */
const dateAndTime =
  /\d\D{1,20}\d.{0,20}\d:\d\d|\p{L}.{0,20}\d:\d\d|^\d{8,19}(?:[.,]\d+)?$|^\[\d{4},/u;

/** Whether a value looks like a date with a time of day, be it one that can be read or not. */
export const looksLikeTime = (value: string): boolean =>
  value.length <= 100 && !isDate(value) && !isTimeOfDay(value) && dateAndTime.test(value);

/** Whether a value looks like a date, a time of day, or both. */
export const isTimeOrPart = (value: string): boolean =>
  isDate(value) || isTimeOfDay(value) || looksLikeTime(value);

/** Whether a value is a time of this century: without a telling name, ten digits may be anything. */
export function isRecentTime(value: string): boolean {
  const time = parseTime(value);
  return time !== null && time >= Date.UTC(2010, 0) && time < Date.UTC(2100, 0);
}

/** Returns why a value is not read as a time. */
export function whyNoTime(value: string): string {
  if (isDate(value)) return "a date without a time of day";
  if (isTimeOfDay(value)) return "a time of day without its date";
  if (/^\p{L}{3,9}\.? +\d\d? +\d\d?:\d\d/u.test(value)) return "which has no year";
  if (/\d ?[A-Z]{3,4}$/.test(value)) return "and its zone is not clear";
  return "which is not a time in a form that is known";
}
