import { VaultError } from "../../errors.ts";
import type { Endpoint, Kind, Operation } from "../../protocol/endpoints.ts";
import { findEndpoint, isOnline, kinds } from "../../protocol/endpoints.ts";
import type { PairChoice } from "./choose-pair.ts";
import { checkGiven, chooseKind } from "./choose-pair.ts";
import type { ExchangeContext } from "../context.ts";
import type { KnownVault, VaultRecord } from "../records.ts";

/** What is known about a start before anything is written or sent. */
export interface Prepared {
  kind: Kind;
  endpoint: Endpoint;
  /** The generation as which the given pair is recorded already; undefined if it is new or none was given. */
  recordedAs: number | undefined;
}

/**
 * Checks everything that can be refused without writing or sending: kind, endpoint, device, given pair.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export async function prepare(
  context: Pick<ExchangeContext, "session">,
  record: VaultRecord | null,
  operation: Operation,
  choice: PairChoice,
): Promise<Prepared> {
  const checked = checkStart(context.session.uuid, record, operation, choice);
  const recordedAs =
    choice.given === undefined
      ? undefined
      : await checkGiven(context, record, choice.given, choice.force);
  return { ...checked, recordedAs };
}

/**
 * The part of `prepare` that needs no session, so that it can run before the state is created.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
export function checkStart(
  uuid: string,
  record: KnownVault | null,
  operation: Operation,
  choice: Pick<PairChoice, "device" | "given" | "kind">,
): Pick<Prepared, "kind" | "endpoint"> {
  const known = record !== null && record.generations.length > 0;
  if (!known && choice.given === undefined) throw noCredentials(uuid);
  const kind = chooseKind(uuid, record, choice.kind);
  const endpoint = findEndpoint(kind, operation, "start");
  if (endpoint === undefined) {
    const able = kinds.filter((k) => findEndpoint(k, operation, "start") !== undefined);
    throw new VaultError("invalid-input", `the interface has no ${operation} of ${kind} vaults`, {
      uuid,
      hint: `it has one for ${able.join(", ")}`,
    });
  }
  if (
    isOnline(kind) &&
    choice.device === undefined &&
    !record?.generations.some((g) => g.device !== null)
  ) {
    throw new VaultError(
      "usage",
      `vault ${uuid} is an online vault; its first read needs a device`,
      {
        uuid,
        hint: "set it with --device @FILE, VAULTSVC_DEVICE or the config key device",
      },
    );
  }
  return { kind, endpoint };
}

export function noCredentials(uuid: string): VaultError {
  return new VaultError(
    "no-credentials",
    `no credentials are known for vault ${uuid} at this service`,
    {
      uuid,
      hint: `vault import ${uuid} --kind KIND --credentials @FILE; vault get ${uuid} --kind KIND --credentials @FILE`,
    },
  );
}

/** The error for a uuid that is known under another base URL: a pair is never sent to a service that it does not belong to. */
export function otherService(uuid: string, here: string, there: string): VaultError {
  return new VaultError(
    "no-credentials",
    `vault ${uuid} belongs to ${there}, not to ${here}; nothing was sent`,
    {
      uuid,
      hint: `use --base-url of that service; vault import ${uuid} --rebind (if the service has moved)`,
    },
  );
}
