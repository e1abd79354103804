/** Fields whose value is secret wherever they are, in requests and responses, bodies and headers. In lower case. */
const secretFields: ReadonlySet<string> = new Set([
  "apikey",
  "encrypteddata",
  "payload",
  "hashedpin",
  "token",
  "content",
  "authorization",
  "x-api-key",
]);

/** Secret only inside a `creditCard`: elsewhere they are ordinary names. */
const secretCardFields: ReadonlySet<string> = new Set(["number", "name"]);

const isSecret = (name: string, inCard: boolean): boolean => secretFields.has(name) || (inCard && secretCardFields.has(name));

/** The values of all secret fields of a JSON value, as text; a name also in capitals, as it stands on the card. */
export function* secretsIn(value: unknown, inCard = false): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    const name = key.toLowerCase();
    if (isSecret(name, inCard) && (typeof inner === "string" || typeof inner === "number")) yield String(inner);
    if (inCard && name === "name" && typeof inner === "string") yield inner.toUpperCase();
    yield* secretsIn(inner, inCard || name === "creditcard");
  }
}

/**
 * A deep copy of a JSON value in which the value of every secret field is replaced by what it was like. What a message
 * of the service may repeat in its wording is not seen here: that is the redactor's work.
 */
export function maskSecrets(value: unknown, inCard = false): unknown {
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, inCard));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.toLowerCase();
    if (isSecret(name, inCard)) return [key, masked(inner)];
    return [key, maskSecrets(inner, inCard || name === "creditcard")];
  });
  return Object.fromEntries(entries);
}

function masked(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (typeof value === "string") return `«redacted ${value.length} character${value.length === 1 ? "" : "s"}»`;
  return `«redacted ${Array.isArray(value) ? "array" : typeof value}»`;
}
