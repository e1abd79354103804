import fs from "node:fs";
import { VaultError } from "../../errors.ts";
import { isCreditCard, isOnline, kinds } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import {
  base64,
  creditCard,
  dateTime,
  device,
  metadata,
  positiveLong,
  uuid,
} from "../../protocol/fields.ts";
import { parseJson } from "../../protocol/json.ts";
import { offlineCredentials } from "../../protocol/requests.ts";
import { validate } from "../../protocol/validate.ts";
import type { VaultInput } from "../model/state.ts";

export const demoDevice: Device = {
  browserType: "Firefox",
  browserVersion: "128.0",
  osType: "Linux",
  fonts: ["Arial", "DejaVu Sans"],
};

/** A vault of each kind, and one with a limited number of reads, with the same uuids every time. The card numbers are the public ones for tests. */
export const demoSeed: readonly VaultInput[] = [
  {
    uuid: "8a1f6f0e-6f1c-4b7e-9f5b-3f1f5a7f1c11",
    kind: "credit-card/online",
    label: "demo online card",
    creditCard: {
      number: "4111111111111111",
      name: "Ada Lovelace",
      expiryMonth: 4,
      expiryYear: 2031,
    },
    hashedPin: "ZGVtby1oYXNoZWQtcGlu",
    device: demoDevice,
  },
  {
    uuid: "b6f9a1d2-0a4f-4b7f-8d55-2a4a9f6f7e02",
    kind: "credit-card/offline",
    label: "demo offline card",
    creditCard: {
      number: "5555555555554444",
      name: "Grace Hopper",
      expiryMonth: 12,
      expiryYear: 2030,
    },
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
    label: "demo note with 3 reads",
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
 * Reads the vaults of `--seed`: `demo`, or a JSON file with a list of VaultInput.
 * @throws `invalid-input` naming the vault (counted from 1) and the field
 */
export function readSeed(name: string): readonly VaultInput[] {
  if (name === "demo") return demoSeed;
  const hint =
    'a seed is "demo" or a file such as [{"kind":"generic/offline","label":"note","content":"text","maxUsage":3}]';
  let given: unknown;
  try {
    given = parseJson(fs.readFileSync(name, "utf8"));
  } catch (cause) {
    const why =
      cause instanceof SyntaxError
        ? "is not JSON"
        : `cannot be read (${(cause as NodeJS.ErrnoException).code})`;
    throw new VaultError("invalid-input", `--seed ${name}: ${why}`, { hint, cause });
  }
  if (!Array.isArray(given))
    throw new VaultError("invalid-input", `--seed ${name}: must be a list of vaults`, { hint });
  const inputs = given.map((input, index) =>
    checkVaultInput(input, `--seed ${name}: vault ${index + 1}`),
  );
  const uuids = inputs.flatMap(({ uuid }) => (uuid === undefined ? [] : [uuid.toLowerCase()]));
  const twice = uuids.find((uuid, index) => uuids.indexOf(uuid) !== index);
  if (twice !== undefined)
    throw new VaultError("invalid-input", `--seed ${name}: two vaults have the UUID ${twice}`);
  return inputs;
}

/** Fields with a schema of the interface, in the order of the checks. */
const schemas: Partial<Record<keyof VaultInput, Parameters<typeof validate>[0]>> = {
  uuid,
  creditCard,
  maxUsage: positiveLong,
  expiryDate: dateTime,
  hashedPin: base64,
  device,
  metadata,
  credentials: offlineCredentials,
};
const known = ["kind", "label", "content", ...Object.keys(schemas)];

/**
 * Checks a vault of a seed. Unknown fields are errors.
 * @throws `invalid-input` naming the vault and the field
 */
export function checkVaultInput(given: unknown, where: string): VaultInput {
  const fail = (field: string, rule: string): never => {
    throw new VaultError("invalid-input", `${where}: ${field} ${rule}`);
  };
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return fail("the vault", "must be an object");
  const input = given as Record<string, unknown>;
  for (const name of Object.keys(input))
    if (!known.includes(name)) fail(name, `is not a field; known fields: ${known.join(", ")}`);
  const kind = kinds.find((k) => k === input["kind"]);
  if (kind === undefined) return fail("kind", `must be one of ${kinds.join(", ")}`);
  for (const name of ["label", "content"]) {
    if (input[name] !== undefined && typeof input[name] !== "string") fail(name, "must be text");
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const checked = input[name] === undefined ? undefined : validate(schema, input[name]);
    if (checked?.ok === false)
      for (const v of checked.violations) fail([name, v.path].filter(Boolean).join("."), v.rule);
  }
  if (typeof input["expiryDate"] === "string" && Number.isNaN(Date.parse(input["expiryDate"])))
    fail("expiryDate", "is not a valid date");
  const needs = (name: string, wanted: boolean) => {
    if (wanted && input[name] === undefined) fail(name, `is missing: a ${kind} vault needs it`);
  };
  const allows = (name: string, allowed: boolean) => {
    if (!allowed && input[name] !== undefined) fail(name, `does not belong to a ${kind} vault`);
  };
  needs("creditCard", isCreditCard(kind));
  needs("content", !isCreditCard(kind));
  allows("creditCard", isCreditCard(kind));
  allows("content", !isCreditCard(kind));
  for (const name of ["maxUsage", "expiryDate"]) allows(name, !isOnline(kind));
  for (const name of ["hashedPin", "device"]) allows(name, isOnline(kind));
  return given as VaultInput;
}
