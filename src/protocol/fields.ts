import * as z from "zod/mini";
import { parseGivenJson } from "./json.ts";
import { characters, externalRefRule, isExternalRef, isUuid, uuidRule } from "./limits.ts";
import { checkGiven } from "./validate.ts";

/**
 * A text field in the format that docs/interface.md has for it. Each `rule` states the format and shows a valid value, because it is
 * printed unchanged after the name of the field or flag.
 */
const text = (rule: string, check: (value: string) => boolean) =>
  z.string({ error: rule }).check(z.refine(check, { error: rule }));

export const uuid = text(uuidRule, isUuid);
export const externalRef = text(externalRefRule, isExternalRef);

export const base64 = text("must be base64, such as c2VjcmV0LXBpbg==", (value) =>
  /^(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
);

export const opaque = text("must be a string that is not empty", (value) => value.length > 0);

const dateTimePattern =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::(\d{2})([.,]\d+)?)?(?:Z|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?$/;

/**
 * Milliseconds since the epoch of an ISO 8601 date-time, or null for anything else. The offset may be missing, since the interface does
 * not require one (docs/interface.md, Vault): then it is UTC, since a service does not know where its clients are. `Date.parse` alone would
 * take it for local time, refuse some forms, and accept "token 5".
 */
export function instant(value: string): number | null {
  const [, minutes, second = "00", fraction = "", offsetHour, offsetMinute = "00"] =
    dateTimePattern.exec(value) ?? [];
  // A leap second counts as second 59.
  const local = `${minutes}:${second === "60" ? "59" : second}`;
  const utc = Date.parse(`${local}Z`);
  // A day that the month does not have would be one of the next.
  if (Number.isNaN(utc) || !new Date(utc).toISOString().startsWith(local)) return null;
  const offset = offsetHour === undefined ? "Z" : `${offsetHour}:${offsetMinute}`;
  return Date.parse(`${local}${fraction.replace(",", ".")}${offset}`);
}

export const dateTime = text(
  "must be an ISO 8601 date-time, such as 2026-11-20T14:02:11Z",
  (value) => instant(value) !== null,
);

const deviceText = (example: string) =>
  text(
    `must be letters, digits, dashes, underscores or spaces, at least 2, such as ${example}`,
    (value) => /^[A-Za-z0-9_ -]{2,}$/.test(value),
  );

const fontsRule = 'must be a list of at least one font name, such as ["Arial"]';

const deviceExample =
  '{"browserType":"Firefox","browserVersion":"128.0","osType":"Linux","fonts":["Arial"]}';

/** See docs/interface.md, Device. */
export const device = z.object(
  {
    browserType: deviceText("Firefox"),
    browserVersion: text("must be digits and dots, at least 2, such as 128.0", (value) =>
      /^[0-9.]{2,}$/.test(value),
    ),
    osType: deviceText("Linux"),
    fonts: z
      .array(z.string({ error: 'must be text, such as "Arial"' }), { error: fontsRule })
      .check(z.minLength(1, { error: fontsRule })),
  },
  { error: `must be an object, such as ${deviceExample}` },
);
export type Device = z.infer<typeof device>;

/**
 * Parses a device (docs/interface.md, Device) from JSON.
 * @throws `invalid-input`, which names the field and the rule and shows a valid value
 */
export function parseDevice(text: string, source: string): Device {
  const example = `a valid value: ${deviceExample}`;
  return checkGiven(device, parseGivenJson(text, source, example), source, example);
}

/** Whether a string of digits passes the Luhn check. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const integer = (error: string, min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.int({ error }).check(z.gte(min, { error }), z.lte(max, { error }));

export const positiveLong = integer("must be a whole number of at least 1", 1);
export const anyInteger = z.int({ error: "must be a whole number" });

/** See docs/interface.md, Credit card. */
export const creditCard = z.object(
  {
    expiryMonth: integer("must be a month, 1 to 12", 1, 12),
    expiryYear: integer("must be a year of 4 digits, such as 2029", 1000, 9999),
    name: text(
      "must be at most 30 characters, such as Ada Lovelace",
      (value) => characters(value) <= 30,
    ),
    number: text(
      "must be 8 to 19 digits that pass the Luhn check, such as 4111111111111111",
      (value) => /^[0-9]{8,19}$/.test(value) && passesLuhn(value),
    ),
  },
  {
    error:
      'must be an object, such as {"number":"4111111111111111","name":"Ada Lovelace","expiryMonth":4,"expiryYear":2029}',
  },
);
export type CreditCard = z.infer<typeof creditCard>;

const metadataText = "letters, digits, dashes, underscores and spaces";
export const metadataKey = text(
  `must have keys of 1 to 32 ${metadataText}, such as cost-center`,
  (value) => /^[A-Za-z0-9_ -]{1,32}$/.test(value),
);
export const metadataValue = text(
  `must have values of at most 255 ${metadataText}, such as EU-West 7`,
  (value) => /^[A-Za-z0-9_ -]{0,255}$/.test(value),
);

/** Key-value pairs on a vault (docs/interface.md, Metadata). */
export const metadata = z
  .record(metadataKey, metadataValue, {
    error: 'must be an object, such as {"cost-center":"EU-West 7"}',
  })
  .check(
    z.refine((value) => Object.keys(value).length <= 50, { error: "must have at most 50 entries" }),
  );
export type Metadata = z.infer<typeof metadata>;

/** Returns the schema of an object with these fields and no others. */
export const objectOf = <Fields extends z.core.$ZodShape>(fields: Fields, rule: string) =>
  z.strictObject(fields, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `${issue.keys.join(", ")} is not one of ${Object.keys(fields).join(", ")}`
        : rule,
  });
