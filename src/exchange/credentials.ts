import * as z from "zod/mini";
import { date } from "../protocol/answers.ts";
import { kinds, operations, type Kind } from "../protocol/endpoints.ts";
import { device, opaque, uuid, type Device } from "../protocol/fields.ts";
import { parseGivenJson } from "../protocol/json.ts";
import { onlineCredentials, type Credentials } from "../protocol/requests.ts";
import { checkGiven } from "../protocol/validate.ts";

const kind = z.enum(kinds, { error: `must be one of ${kinds.join(", ")}` });

/** What every document says of its vault. */
const vault = { uuid, label: z.optional(z.nullable(z.string({ error: "must be a text" }))), kind };

/** Null if it is not there or cannot be read: that must not keep anybody from the credentials. */
const informs = <T>(read: (value: unknown) => T | null) =>
  z.pipe(z.optional(z.unknown()), z.transform(read));

/** The format of documents, the first one. It is read for ever. */
const format = z.literal(2, { error: "this version reads documents up to format 2" });

const pending = z.object({
  format,
  ...vault,
  label: z._default(vault.label, null),
  exchange: z.object(
    {
      id: opaque,
      operation: z.enum(operations, { error: `must be ${operations.join(" or ")}` }),
      externalRef: informs((value) => (typeof value === "string" ? value : null)),
      startedAt: informs(date),
      tokenExpiry: informs(date),
      /** Number of the new credentials in the state that wrote the document. */
      generation: informs((value) => (Number.isSafeInteger(value) ? (value as number) : null)),
    },
    { error: 'must be an object, such as {"id":"…","operation":"get","tokenExpiry":"…"}' },
  ),
  status: z.literal("pending", { error: 'must be "pending"' }),
  old: onlineCredentials,
  new: onlineCredentials,
  token: opaque,
  device: z.optional(device),
  /** A read of a limited vault whose contents may not have been delivered: only a person may decide to acknowledge it. */
  unread: z.optional(z.literal(true, { error: "must be true, or left out" })),
});

/**
 * The recovery document that --credentials-out and --save-cmd receive before the end call. With it, another machine can finish
 * the exchange.
 */
export type RecoveryDocument = z.infer<typeof pending>;

/** Given or stored credentials, or a recovery document; `checkCredentials` checks which. */
export const givenCredentials = z.looseObject(
  {},
  { error: 'must be an object, such as {"encryptedData":"…","payload":"…"}' },
);

/** Also what `vault export` prints, which has no format; of an open exchange, `credentials` is a recovery document. */
const withCredentials = z.object({
  format: z.optional(format),
  ...vault,
  credentials: givenCredentials,
  device: z.optional(device),
});

export type GivenCredentials = {
  /** The document, byte for byte as --credentials had it. */
  exact?: string | undefined;
  /** Vault and label, if a document names them. */
  uuid?: string;
  label?: string | null | undefined;
} & (
  | { type: "pair"; credentials: Credentials; kind?: Kind; device?: Device | undefined }
  | { type: "recovery"; document: RecoveryDocument }
);

/**
 * Parses the value of --credentials: credentials, bare or in a document, or a recovery document.
 * @throws `invalid-input`, which names the field and never shows a value
 */
export const parseCredentials = (text: string, flag: string): GivenCredentials =>
  checkCredentials(
    parseGivenJson(text, flag, 'a valid value: {"encryptedData":"…","payload":"…"}'),
    flag,
  );

/** As `parseCredentials`, of what is parsed already. */
export function checkCredentials(value: unknown, flag: string): GivenCredentials {
  const keys: Record<string, unknown> =
    typeof value === "object" && value !== null ? { ...value } : {};
  if ("credentials" in keys) {
    const { credentials, format: _, ...rest } = checkGiven(withCredentials, value, flag, valid);
    const given = checkCredentials(credentials, `${flag}.credentials`);
    return given.type === "pair" ? { ...given, ...rest } : given;
  }
  if (keys["format"] !== undefined) {
    const document = checkGiven(pending, value, flag, valid);
    return { type: "recovery", uuid: document.uuid, label: document.label ?? null, document };
  }
  return { type: "pair", credentials: checkGiven(onlineCredentials, value, flag, valid) };
}

const valid =
  'a valid value: {"encryptedData":"…","payload":"…"}, or a document as --credentials-out writes it';
