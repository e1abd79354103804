// Patterns for outcomes and descriptions in exports: the specification shows neither fields nor texts (section 6).

/** Meaning of an outcome; `unclear` if it is neither a known success nor a known failure. */
export type Outcome = "good" | "bad" | "unclear";

const good =
  /\b(?:success(?:ful(?:ly)?)?|succeed(?:ed|s)?|ok|true|yes|done|completed?|allowed|accepted|granted|permitted|pass(?:ed)?|no errors?)\b|^2\d\d\b/i;
const bad =
  /fail|invalid|\bbad\b|wrong|incorrect|denied|refus|reject|unauthori[sz]ed|forbidden|mismatch|\berror|not (?:valid|ok|found|allowed|accepted)|unsuccessful|too many|^(?:false|no|nok|ko)$|^[45]\d\d\b/i;

export function outcomeOf(text: string): Outcome {
  const words = text.replaceAll("_", " ").trim();
  if (/\bno errors?\b/i.test(words)) return "good";
  return bad.test(words) ? "bad" : good.test(words) ? "good" : "unclear";
}

const locked =
  /\b(?:is|was|been|already|now|vault|and|it) locked\b|^locked$|\blocked out\b|, locked\b|\blocks the vault\b/i;
/** Wording of a lock that has not happened. */
const notYet =
  /\bnot (?:yet )?locked|\bbefore\b|\bremaining\b|\bleft\b|\bwill (?:be )?lock|\bwould (?:be )?lock|\buntil\b|\bunlocked\b/i;

/** Whether a text describes a failed call. */
export const saysBad = (text: string): boolean => bad.test(text) || saysLocked(text);

/** Whether a text says that the vault is locked. */
export const saysLocked = (text: string): boolean => locked.test(text) && !notYet.test(text);

/** Whether a text is about the credentials of a vault. */
export const saysCredentials = (text: string): boolean =>
  /credential|payload|encrypted.?data|\bpin\b|hashed.?pin|\bdevice (?:does|did|mis|not|fingerprint)|\(device\)/i.test(
    text,
  );

export const saysTooManyStarts = (text: string): boolean =>
  /too many (?:starts|reads|transactions)|unacknowledged|without (?:an? )?acknowledge?ment/i.test(
    text,
  );

/** Whether a text gives a reason other than the vault: the application, its rate, the request, or the service itself. */
export const saysOtherwise = (text: string): boolean =>
  /api.?key|\bjwt\b|bearer|signature|whitelist|\baddress (?:is |was )?(?:not|refused|denied)|application (?:is |was )?(?:refused|unknown|not|or)|rate.?limit|too many requests|validation (?:failed|error)|malformed|vault (?:was )?(?:not found|unknown)|unknown vault|unavailable|time.?out|internal (?:server )?error/i.test(
    text,
  );

/** Whether an outcome is HTTP status 423, locked. */
export const isLockedStatus = (text: string): boolean => /^423\b/.test(text.trim());
/** Whether an outcome is an HTTP error status that is not about credentials. */
export const isOtherStatus = (text: string): boolean =>
  /^(?:4(?!03|23)\d\d|5\d\d)\b/.test(text.trim());
