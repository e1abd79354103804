/** Values that satisfy every rule, for tests to make invalid one at a time. */
export const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";
export const application = {
  apiKey: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
  uuid: "11111111-2222-4333-8444-555555555555",
};
export const device = {
  browserType: "Firefox",
  browserVersion: "128.0",
  osType: "Linux",
  fonts: ["Arial"],
};
export const creditCard = {
  number: "4111111111111111",
  name: "Ada Lovelace",
  expiryMonth: 4,
  expiryYear: 2031,
};
export const otherCard = {
  number: "5555555555554444",
  name: "Grace Hopper",
  expiryMonth: 12,
  expiryYear: 2030,
};
export const pair = { encryptedData: "ENC", payload: "PAY" };
export const transactionToken = { expiry: "2026-11-20T14:02:11Z", timeToExpire: 300, token: "T0K" };

/** A copy with the value at a dotted path replaced; `undefined` removes it. */
export function spoil(value: object, path: string, replacement: unknown): Record<string, unknown> {
  const copy = structuredClone(value) as Record<string, unknown>;
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const holder = keys.reduce<Record<string, unknown>>(
    (inner, key) => inner[key] as Record<string, unknown>,
    copy,
  );
  if (replacement === undefined) delete holder[last];
  else holder[last] = replacement;
  return copy;
}
