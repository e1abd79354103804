import { VaultError } from "../../errors.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Faults } from "../faults/faults.ts";
import { parseFault } from "../faults/grammar.ts";
import type { RunningDocument } from "./ready.ts";
import type { Sandbox } from "../model/model.ts";
import type { SandboxRequest, SandboxResponse } from "../model/outcome.ts";
import { write } from "../model/outcome.ts";
import type { VaultState } from "../model/state.ts";
import { sameSecret } from "../seeds/random.ts";

/** The process that serves a sandbox, for the routes that concern it. What these throw, the route reports. */
export interface Serving {
  /** Describes it as it is now. */
  ready(): RunningDocument;
  /** Called after a reset, when the vaults have new credentials. */
  renewReadyFile(): void;
  stop(): void;
}

export interface ControlParts {
  sandbox: Sandbox;
  faults: Faults;
  controlToken: string;
  /** Absent for a sandbox without a socket: it has no ready file, and nothing to stop. */
  serving?: Serving;
}

const reply = (status: number, body: Record<string, unknown>): SandboxResponse =>
  write({ status, headers: {}, body });

const failure = (status: number, message: string): SandboxResponse =>
  reply(status, { error: { message } });

/**
 * Handles the routes under `/sandbox`, for `vault sandbox …` in another process: `POST reset`, `GET audit`, `POST lock/{uuid}`,
 * `POST unlock/{uuid}`, `POST faults` (`{"faults":["get-end:cut",…]}`), `DELETE faults`, `GET vaults/{uuid}`, `GET ready` and `POST stop`. Each
 * requires the control token. No response but that of `GET ready` has credentials, none has contents.
 */
export function control(
  parts: ControlParts,
  request: SandboxRequest,
  path: string,
): SandboxResponse {
  const given = /^Bearer (.+)$/i.exec(request.headers["authorization"] ?? "")?.[1];
  if (given === undefined || !sameSecret(given, parts.controlToken))
    return failure(401, "the control token is missing or wrong");
  const [, name = "", uuid] = path.split("/");
  const action = actions[`${request.method} ${name}`];
  if (action === undefined || path.split("/").length > 3)
    return failure(404, "no such control route");
  try {
    const answer = reply(200, action(parts, uuid ?? "", request.body));
    return name === "stop" ? { ...answer, afterwards: () => parts.serving?.stop() } : answer;
  } catch (error) {
    if (!(error instanceof VaultError)) return failure(500, "internal failure of the sandbox");
    return failure(error.code === "invalid-input" ? 400 : 500, error.message);
  }
}

type Action = (parts: ControlParts, uuid: string, body: string) => Record<string, unknown>;

const inspect: Action = ({ sandbox }, uuid) => ({ vault: publicVault(sandbox.inspect(uuid)) });

/** A vault as the routes show it: what is not secret. */
export type PublicVault = ReturnType<typeof publicVault>;

const publicVault = ({ pending, ...vault }: VaultState) => ({
  uuid: vault.uuid,
  kind: vault.kind,
  label: vault.label,
  state: vault.state,
  lockReason: vault.lockReason,
  pending: pending && {
    operation: pending.operation,
    expiresAt: pending.expiresAt,
    externalRef: pending.externalRef,
  },
  failedAccesses: vault.failedAccesses,
  unackedStarts: vault.unackedStarts,
  usesRemaining: vault.usesRemaining,
  expiryDate: vault.expiryDate,
  autoLockDate: vault.autoLockDate,
  dateCreated: vault.dateCreated,
  lastModified: vault.lastModified,
  counts: vault.counts,
});

const actions: Record<string, Action> = {
  "POST reset": ({ sandbox, faults, serving }) => {
    faults.clear();
    sandbox.reset();
    serving?.renewReadyFile();
    return { vaults: sandbox.vaults().length };
  },
  "GET ready": ({ serving }) => ({ ...serving?.ready() }),
  "POST stop": () => ({}),
  "GET audit": ({ sandbox }) => ({ items: sandbox.audit() }),
  "POST lock": (parts, uuid, body) => {
    parts.sandbox.lock(uuid);
    return inspect(parts, uuid, body);
  },
  "POST unlock": (parts, uuid, body) => {
    parts.sandbox.unlock(uuid);
    return inspect(parts, uuid, body);
  },
  "GET vaults": inspect,
  "POST faults": ({ faults }, _uuid, body) => {
    faults.add(readFaults(body));
    return { armed: faults.armed };
  },
  "DELETE faults": ({ faults }) => {
    faults.clear();
    return { armed: 0 };
  },
};

function readFaults(body: string) {
  let given: unknown;
  try {
    given = parseJson(body);
  } catch (cause) {
    throw new VaultError("invalid-input", "faults: the body must be JSON", { cause });
  }
  const texts = (given as { faults?: unknown } | null)?.faults;
  if (!Array.isArray(texts))
    throw new VaultError("invalid-input", 'faults: the body must be {"faults":[…]}');
  return texts.map(String).map(parseFault);
}
