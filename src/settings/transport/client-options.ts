import { VaultError } from "../../errors.ts";
import { uuid as identifier } from "../../protocol/fields.ts";
import type { Application } from "../../protocol/requests.ts";
import { validate } from "../../protocol/validate.ts";
import type { BearerToken } from "../jwt/jwt.ts";
import { createBearerToken } from "../jwt/jwt.ts";
import type { Sourced } from "../definitions.ts";
import type { Settings } from "../settings.ts";
import { missingIn, missingSettings } from "../settings.ts";
import type { SettingIo } from "../sources.ts";
import type { Transport } from "./transport.ts";
import { readTransport } from "./transport.ts";

/** Settings of the client: the service, its application and the route to it. */
interface ClientSettings extends Transport {
  baseUrl: string;
  apiPrefix: string;
  application: Application;
  timeoutMs: number;
  token: BearerToken | undefined;
}

/** @throws `usage` if a setting is missing, `invalid-input` for one that is wrong, which it names; never shows a secret */
export async function readClientSettings(
  settings: Settings,
  io: SettingIo,
  readSecret: (spec: Sourced) => Promise<string>,
): Promise<ClientSettings> {
  const { appUuid: uuid, baseUrl = "", apiPrefix, timeout: timeoutMs } = settings;
  if (uuid === undefined || settings.apiKey === undefined)
    throw missingSettings(missingIn(settings));
  const apiKey = await readSecret(settings.apiKey);
  checkIdentifier(uuid, "--app-uuid", "nothing was sent");
  checkIdentifier(apiKey, "--api-key", "nothing was sent");
  const transport = await readTransport(settings, io);
  return {
    baseUrl,
    apiPrefix,
    application: { apiKey, uuid },
    timeoutMs,
    ...transport,
    token: await createBearerToken(settings, io),
  };
}

/** @throws `invalid-input`, which names `source` and never shows the value, unless it is an identifier (section 2.1) */
export function checkIdentifier(value: string, source: string, hint: string): void {
  const checked = validate(identifier, value);
  if (!checked.ok)
    throw new VaultError("invalid-input", `${source}: ${checked.violations[0]?.rule}`, { hint });
}
