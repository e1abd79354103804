import http from "node:http";
import { onTestFinished } from "vitest";
import { demoSeed } from "../../src/sandbox/seeds/seeds.ts";
import type { RunningSandbox, SandboxSettings } from "../../src/sandbox/server/start-sandbox.ts";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import type { KnownVault } from "../../src/sandbox/model/vaults.ts";

/** Starts a sandbox with the demo vaults on a free port, and closes it after the test. */
export async function running(settings: Partial<SandboxSettings> = {}): Promise<RunningSandbox> {
  const sandbox = await startSandbox({ now: () => Date.now(), seed: demoSeed, ...settings });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

export interface Sent {
  status: number;
  body: {
    responseStatus?: { status: string };
    transactionToken?: { token: string };
    vault?: Record<string, unknown>;
  };
}

export function request(
  sandbox: RunningSandbox,
  method: string,
  target: string,
  body: string,
  headers = {},
  agent?: http.Agent,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const options = { method, headers, ...(agent === undefined ? {} : { agent }) };
    const sent = http.request(`${sandbox.baseUrl}${target}`, options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Sent["body"] }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export const target = (vault: KnownVault, step: string) =>
  `/vaultsvc/v1-2/vault/${vault.kind}/${vault.uuid}/${step}`;

export function start(
  sandbox: RunningSandbox,
  vault: KnownVault,
  agent?: http.Agent,
): Promise<Sent> {
  const { application } = sandbox;
  const body = JSON.stringify({
    application,
    ...(vault.device && { device: vault.device }),
    vault: { credentials: vault.credentials },
  });
  return request(sandbox, "POST", target(vault, "get-start"), body, {}, agent);
}

export function end(
  sandbox: RunningSandbox,
  vault: KnownVault,
  token: string,
  agent?: http.Agent,
): Promise<Sent> {
  const headers = {
    "x-application-uuid": sandbox.application.uuid,
    "x-api-key": sandbox.application.apiKey,
  };
  return request(
    sandbox,
    "PUT",
    target(vault, "get-end"),
    JSON.stringify({ token }),
    headers,
    agent,
  );
}

export const nth = (sandbox: RunningSandbox, index: number): KnownVault => {
  const vault = sandbox.vaults[index];
  if (vault === undefined) throw new Error("no such vault");
  return vault;
};
