import * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { isCreditCard, isOnline, kinds, type Kind } from "../protocol/endpoints.ts";
import * as fields from "../protocol/fields.ts";
import { parseList } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { offlineCredentials } from "../protocol/requests.ts";

export const demoDevice: fields.Device = {
  browserType: "Firefox",
  browserVersion: "128.0",
  osType: "Linux",
  fonts: ["Arial", "DejaVu Sans"],
};

const ada = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 };
const grace = {
  number: "5555555555554444",
  name: "Grace Hopper",
  expiryMonth: 12,
  expiryYear: 2030,
};

/** A vault of each kind, and a limited one, with constant uuids and public test card numbers. */
export const demoSeed: readonly VaultInput[] = [
  {
    uuid: "8a1f6f0e-6f1c-4b7e-9f5b-3f1f5a7f1c11",
    kind: "credit-card/online",
    label: "demo online card",
    creditCard: ada,
    hashedPin: "ZGVtby1oYXNoZWQtcGlu",
    device: demoDevice,
  },
  {
    uuid: "b6f9a1d2-0a4f-4b7f-8d55-2a4a9f6f7e02",
    kind: "credit-card/offline",
    label: "demo offline card",
    creditCard: grace,
  },
  {
    uuid: "e2c7d9f4-1c3b-4f0a-9d8e-7b6a5c4d3e21",
    kind: "generic/offline",
    label: "demo offline note",
    content: "The treasure is under the third palm tree. Höchst geheim ✓",
  },
  {
    uuid: "5d0b7a53-52ac-4f2e-8b29-0d0a52f3a2c4",
    kind: "generic/offline",
    label: "demo limited note",
    content: "This note can be read three times.",
    maxUsage: 3,
  },
  {
    uuid: "f3d8e0a5-2d4c-4a1b-8e9f-8c7b6d5e4f32",
    kind: "generic/online",
    label: "demo online note",
    content: "Only this browser reads this note.",
    device: demoDevice,
  },
];

/**
 * Parses a list of vaults, as `--seed FILE` has it. Unknown fields are errors.
 * @throws `invalid-input` naming the vault (counted from 1) and the field
 */
export function parseSeed(text: string, source: string): readonly VaultInput[] {
  const hint =
    'a seed is "demo" or a file such as [{"kind":"generic/offline","label":"note","content":"text","maxUsage":3}]';
  const inputs = Array.from(parseList(text, source, hint), ({ value }, index) => {
    checkGiven(anyVault, value, `${source}: vault ${index + 1}`, undefined, "place");
    // Not the checked one: a device keeps what the interface does not name.
    return value as VaultInput;
  });
  const uuids = inputs.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid.toLowerCase()]));
  const twice = uuids.find((uuid, index) => uuids.indexOf(uuid) !== index);
  if (twice !== undefined)
    throw new VaultError("invalid-input", `${source}: two vaults have the UUID ${twice}`);
  return inputs;
}

const text = z.string({ error: "must be text" });
const everyVault = {
  kind: z.enum(kinds),
  label: z.exactOptional(text),
  /** Key-value pairs that an info call returns. */
  metadata: z.exactOptional(fields.metadata),
  uuid: z.exactOptional(fields.uuid),
  credentials: z.exactOptional(offlineCredentials),
};
const card = { creditCard: fields.creditCard };
const note = { content: text };
const offline = {
  /** LIMITED, the number of reads. */
  maxUsage: z.exactOptional(fields.positiveLong),
  /** TIME_EXPIRY, ISO 8601. */
  expiryDate: z.exactOptional(fields.dateTime),
};
const online = {
  /** If given, every start must have it. */
  hashedPin: z.exactOptional(fields.base64),
  /** The device that starts must match; any device, if absent. */
  device: z.exactOptional(fields.device),
};

const rule = "the vault must be an object";
const ofKind = (kind: Kind) => {
  const contents = isCreditCard(kind) ? card : note;
  const ofMode = isOnline(kind) ? online : offline;
  return fields.objectOf({ ...everyVault, kind: z.literal(kind), ...contents, ...ofMode }, rule);
};
const anyVault = z.discriminatedUnion("kind", [ofKind(kinds[0]), ...kinds.slice(1).map(ofKind)], {
  error: ({ code }) => (code === "invalid_union" ? `must be one of ${kinds.join(", ")}` : rule),
});

/** Description of a vault to create, with fields of its kind. A seed file is a list of these. */
export type VaultInput = z.infer<z.ZodMiniObject<typeof everyVault>> &
  Partial<z.infer<z.ZodMiniObject<typeof card & typeof note & typeof offline & typeof online>>>;
