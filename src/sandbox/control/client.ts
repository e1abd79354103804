import { Client } from "undici";
import { VaultError } from "../../errors.ts";
import type { PublicVault } from "./control.ts";
import type { RunningDocument } from "./ready.ts";
import { readReadyFile } from "./ready.ts";
import type { AuditItem } from "../model/state.ts";
import { command } from "../../way.ts";

/** Control of a sandbox that runs in another process. */
export type ControlClient = ReturnType<typeof connectControl>;

/**
 * Connects to the sandbox of a ready file. Each call reads the file again and throws `usage` if it is missing or not a ready file,
 * `network` if nothing listens, `unauthorized` if another sandbox does, `invalid-input` for an unknown vault or an invalid fault, and
 * `service` otherwise.
 */
export function connectControl(readyFile: string) {
  const call = async (
    method: "GET" | "POST" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown>> => {
    const ready = readReadyFile(readyFile);
    const answer = await request(
      `${ready.baseUrl}/sandbox/${path}`,
      method,
      ready.controlToken,
      body,
    );
    if (answer.status === 200) return answer.body;
    const message =
      (answer.body["error"] as { message?: string } | undefined)?.message ??
      `HTTP ${answer.status}`;
    if (answer.status === 401) {
      const hint = "the file belongs to an earlier sandbox; use the one of the running sandbox";
      throw new VaultError(
        "unauthorized",
        `the sandbox at ${ready.baseUrl} refused the token of ${readyFile}`,
        {
          hint,
          retry: "after-fix",
        },
      );
    }
    throw new VaultError(answer.status === 400 ? "invalid-input" : "service", message);
  };
  const vault = async (method: "GET" | "POST", path: string, uuid: string): Promise<PublicVault> =>
    (await call(method, `${path}/${encodeURIComponent(uuid)}`))["vault"] as PublicVault;
  return {
    /** Describes it as it is now. */
    ready: async () => (await call("GET", "ready")) as unknown as RunningDocument,
    /** Ends it as Ctrl-C would. */
    stop: async () => void (await call("POST", "stop")),
    /** Restores the seed and removes all faults. Returns the number of vaults. */
    reset: async () => (await call("POST", "reset"))["vaults"] as number,
    audit: async () => (await call("GET", "audit"))["items"] as AuditItem[],
    lock: async (uuid: string) => await vault("POST", "lock", uuid),
    unlock: async (uuid: string) => await vault("POST", "unlock", uuid),
    inspect: async (uuid: string) => await vault("GET", "vaults", uuid),
    /** Sets faults as `parseFault` reads them. Returns the number set afterwards. */
    addFaults: async (faults: readonly string[]) =>
      (await call("POST", "faults", { faults }))["armed"] as number,
    clearFaults: async () => void (await call("DELETE", "faults")),
  };
}

interface ControlAnswer {
  status: number;
  body: Record<string, unknown>;
}

async function request(
  url: string,
  method: "GET" | "POST" | "DELETE",
  token: string,
  body: unknown,
): Promise<ControlAnswer> {
  const { origin, pathname } = new URL(url);
  const client = new Client(origin, { headersTimeout: 30_000, bodyTimeout: 30_000 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  let status = 0;
  const chunks: Buffer[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      client.dispatch(
        { method, path: pathname, headers, body: JSON.stringify(body) ?? null },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_, httpStatus) => void (status = httpStatus),
          onResponseData: (_, chunk) => void chunks.push(chunk),
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ECONNREFUSED" ? "nothing listens there" : `no response (${code ?? message})`;
    throw new VaultError("network", `sandbox at ${origin}: ${why}`, {
      next: [command`vault sandbox start`],
      cause: error,
    });
  } finally {
    await client.destroy();
  }
  const answer = parse(Buffer.concat(chunks).toString("utf8"));
  if (answer === undefined)
    throw new VaultError("service", `the server at ${origin} is not a sandbox`);
  return { status, body: answer };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
