import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { json } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import {
  findEndpoint,
  isCreditCard,
  isOnline,
  singleEndpoint,
  type Endpoint,
  type Kind,
  type Operation,
  type SingleOperation,
  type Step,
} from "../../src/protocol/endpoints.ts";
import { responseSchema } from "../../src/protocol/answers.ts";
import { validate } from "../../src/protocol/validate.ts";
import type { Outcome, SandboxRequest } from "../../src/sandbox/outcome.ts";
import { demoDevice, demoSeed } from "../../src/sandbox/seeds.ts";
import type { RunningSandbox, SandboxSettings } from "../../src/sandbox/server.ts";
import { openSandbox, startSandbox } from "../../src/sandbox/server.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { creditCard } from "../support/examples.ts";

/** Its number is not the one that a rule shows. */
export const card = { ...creditCard, number: "4012888888881881" };
export const otherCard = { ...card, number: "5555555555554444", name: "Grace Hopper" };
export const year = 365 * 24 * 60 * 60_000;

interface Pair {
  encryptedData: string;
  payload: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: {
    responseStatus: {
      status: string;
      code?: string;
      detailedErrors?: { property?: string; message: string; errorReasons: string[] }[];
    };
    transactionToken: { token: string; expiry: string; timeToExpire: number };
    vault: Record<string, unknown> & { credentials: Pair; usesRemaining?: number };
    errorUuid?: string;
    retryAfter?: number;
  };
}

/** What a create call says of a vault. */
type Created = Record<string, unknown> & { hashedPin?: string };

/** Creates a sandbox without a socket, with a clock that the test sets, and the calls of a client. */
export class Bench {
  time = Date.parse("2026-11-20T14:00:00.000Z");
  readonly sandbox;
  readonly close;

  constructor(settings: Partial<SandboxSettings> = {}) {
    ({ sandbox: this.sandbox, close: this.close } = openSandbox({
      now: () => this.time,
      ...settings,
    }));
  }

  /** The first vault of its seed. */
  seeded(): KnownVault {
    const [vault] = this.sandbox.vaults();
    assert.ok(vault);
    return vault;
  }

  online(more: Created = {}): KnownVault {
    return this.made("credit-card/online", { creditCard: card, ...more });
  }

  offline(more: Created = {}): KnownVault {
    return this.made("credit-card/offline", { creditCard: card, ...more });
  }

  generic(more: Created = {}): KnownVault {
    return this.made("generic/offline", { content: "a secret", ...more });
  }

  /** Creates a vault by a call, as a client does: two seconds ago, so that it takes no place under the rate limit. */
  made(kind: Kind, vault: Created): KnownVault {
    this.time -= 2000;
    const created = this.create(kind, vault);
    this.time += 2000;
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const { uuid, credentials } = created.body.vault;
    const { hashedPin } = vault;
    return {
      uuid: uuid as string,
      kind,
      label: kind,
      credentials: { ...credentials, ...(hashedPin !== undefined && { hashedPin }) },
    };
  }

  create(kind: Kind, vault: Created, more: Record<string, unknown> = {}): Answer {
    const { application } = this.sandbox;
    const device = isOnline(kind) ? { device: demoDevice } : {};
    return this.single({ kind, uuid: "" }, "create", { application, ...device, vault, ...more });
  }

  /** A call of the extended operations. */
  single(
    vault: Pick<KnownVault, "kind" | "uuid">,
    operation: SingleOperation,
    body?: unknown,
    headers = this.application(),
  ): Answer {
    const { method, path } = singleEndpoint(vault.kind, operation);
    const answer = this.raw({
      method,
      path: `/vaultsvc/v1-2${path(vault.uuid)}`,
      body: body === undefined ? "" : JSON.stringify(body),
      headers: operation === "info" ? headers : {},
    });
    return { ...answer, body: JSON.parse(answer.body) as Answer["body"] };
  }

  /** The headers of an end or info call. */
  application(): Record<string, string> {
    const { uuid, apiKey } = this.sandbox.application;
    return { "x-application-uuid": uuid, "x-api-key": apiKey };
  }

  /** An answer with its body as text. */
  raw(request: Partial<SandboxRequest>): Outcome & { body: string } {
    const { body, ...answer } = this.sandbox.handle({
      method: "POST",
      path: "/",
      headers: {},
      body: "",
      remoteAddress: "127.0.0.1",
      ...request,
    });
    return { ...answer, body: typeof body === "string" ? body : JSON.stringify(body) };
  }

  startBody(
    vault: KnownVault,
    operation: Operation = "get",
    more: Record<string, unknown> = {},
  ): Record<string, unknown> {
    return {
      application: this.sandbox.application,
      ...(isOnline(vault.kind) ? { device: demoDevice } : {}),
      ...(operation === "update"
        ? {
            newVault: isCreditCard(vault.kind) ? { creditCard: otherCard } : { content: otherText },
          }
        : {}),
      vault: { credentials: vault.credentials },
      ...more,
    };
  }

  send(
    kind: Kind,
    uuid: string,
    operation: Operation,
    step: Step,
    body: unknown,
    headers = {},
  ): Answer {
    const endpoint = endpointOf(kind, operation, step);
    const path = `/vaultsvc/v1-2${endpoint.path(uuid)}`;
    const answer = this.raw({
      method: endpoint.method,
      path,
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const parsed: Answer = { ...answer, body: JSON.parse(answer.body) as Answer["body"] };
    if (answer.status === 200)
      assert.equal(validate(responseSchema(endpoint), parsed.body).ok, true, answer.body);
    else expectError(parsed, answer.body);
    return parsed;
  }

  start(
    vault: KnownVault,
    operation: Operation = "get",
    more: Record<string, unknown> = {},
  ): Answer {
    return this.send(
      vault.kind,
      vault.uuid,
      operation,
      "start",
      this.startBody(vault, operation, more),
    );
  }

  startWith(vault: KnownVault, pair: Pair, operation: Operation = "get"): Answer {
    return this.start({ ...vault, credentials: { ...vault.credentials, ...pair } }, operation);
  }

  end(
    vault: KnownVault,
    token: string,
    operation: Operation = "get",
    headers = this.application(),
  ): Answer {
    return this.send(vault.kind, vault.uuid, operation, "end", { token }, headers);
  }

  /** Performs a start and an end call. Returns the vault with its new credentials. */
  exchange(vault: KnownVault, operation: Operation = "get"): KnownVault {
    const started = this.start(vault, operation);
    assert.equal(started.status, 200);
    assert.equal(this.end(vault, started.body.transactionToken.token, operation).status, 200);
    return { ...vault, credentials: { ...vault.credentials, ...started.body.vault.credentials } };
  }
}

/** Matchers of vitest, typed so that they can stand for any value. */
export const containing = (text: string): unknown => expect.stringContaining(text);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
export const anyText: unknown = expect.any(String);

export const otherText = "another text";

export const wrongPair: Pair = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };

/** Returns the properties that a refusal names. */
export const properties = (answer: Answer) =>
  (answer.body.responseStatus.detailedErrors ?? []).map(({ property }) => property);

function endpointOf(kind: Kind, operation: Operation, step: Step): Endpoint {
  const endpoint = findEndpoint(kind, operation, step);
  if (endpoint === undefined) throw new Error(`no endpoint ${kind} ${operation}-${step}`);
  return endpoint;
}

/** Checks what every error must have, and must not have. */
function expectError(answer: Answer, text: string): void {
  const { responseStatus, errorUuid } = answer.body;
  assert.equal(responseStatus.status, "ERROR");
  assert.match(errorUuid ?? "", /^[0-9a-f-]{36}$/);
  assert.notEqual(responseStatus.detailedErrors?.length ?? 0, 0);
  for (const secret of [card.number, "a secret", "d3Jvbmc="])
    assert.ok(!text.includes(secret), `the error shows ${secret}`);
}

/** Starts a sandbox with the demo vaults on a free port, and closes it after the test. */
export async function running(settings: Partial<SandboxSettings> = {}): Promise<RunningSandbox> {
  const sandbox = await startSandbox({ now: () => Date.now(), seed: demoSeed, ...settings });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

interface Sent {
  status: number;
  body: {
    responseStatus?: { status: string };
    transactionToken?: { token: string };
    vault?: Record<string, unknown>;
  };
}

export async function request(
  sandbox: RunningSandbox,
  method: string,
  target: string,
  body: string,
  headers = {},
  agent?: http.Agent,
): Promise<Sent> {
  const options = { method, headers, ...(agent === undefined ? {} : { agent }) };
  const sent = http.request(`${sandbox.baseUrl}${target}`, options).end(body);
  const [response] = (await once(sent, "response")) as [http.IncomingMessage];
  return { status: response.statusCode ?? 0, body: (await json(response)) as Sent["body"] };
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
