import type { Fault, StruckCall } from "./service.ts";

type Json = Record<string, unknown>;

const json = { "content-type": "application/json" };
const hour = 3_600_000;

/** In place of processing: an answer of this HTTP status. */
const instead =
  (status: number, body: string | Json, headers: Record<string, string> = json) =>
  (call: StruckCall): void =>
    call.send({ status, headers, body: typeof body === "string" ? body : JSON.stringify(body) });

/** After processing, another answer than that of the service. */
const replaced =
  (
    status: number,
    change: (body: Json, call: StruckCall) => string | Json,
    headers: Record<string, string> = json,
  ) =>
  (call: StruckCall): void => {
    const answer = call.process();
    const body = change(JSON.parse(answer.body) as Json, call);
    call.send({
      status: status === 0 ? answer.status : status,
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  };

const errorUuid = "0b1d9c1e-6f44-4a57-9a0e-3a86a4f7d0c2";

/** An ERROR of the service itself (docs/interface.md, Errors). */
function error(
  status: number,
  code: string,
  property: string | undefined,
  message: string,
): (call: StruckCall) => void {
  const detail = { ...(property === undefined ? {} : { property }), message };
  return instead(status, {
    responseStatus: { status: "ERROR", code, detailedErrors: [detail] },
    errorUuid,
  });
}

const unavailable = {
  responseStatus: {
    status: "ERROR",
    code: "HTTP-500",
    detailedErrors: [{ message: "try again later" }],
  },
  errorUuid,
};
const tooMany = {
  responseStatus: {
    status: "ERROR",
    code: "RATE-LIMIT",
    detailedErrors: [{ message: "too many requests" }],
  },
  errorUuid,
};
const page = "<html><body>It works!</body></html>\n";
const html = { "content-type": "text/html" };

/** Types that the interface does not have, in all that an exchange can do without. */
function wrongTypes({ responseStatus, transactionToken, vault, ...rest }: Json): Json {
  const status = { ...(responseStatus as Json), detailedErrors: "none", code: 7 };
  if (transactionToken === undefined) return { ...rest, responseStatus: status };
  return {
    responseStatus: status,
    transactionToken: { ...(transactionToken as Json), expiry: 12, timeToExpire: "soon" },
    vault: {
      ...(vault as Json),
      usesRemaining: "three",
      expiryDate: false,
      autoLockDate: "next year",
      lastModified: null,
    },
  };
}

/** Types that an exchange cannot do with: a start without credentials, an end call without a status that is one. */
function wrongEssentials({ vault, ...rest }: Json): Json {
  if (vault === undefined) return { ...rest, responseStatus: { status: true } };
  return { ...rest, vault: { ...(vault as Json), credentials: { encryptedData: 1, payload: [] } } };
}

function slowly(call: StruckCall, pieces: number, all: boolean): void {
  const { status, headers, body } = call.process();
  call.response.writeHead(status, {
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  });
  const size = Math.ceil(body.length / pieces);
  const next = (from: number): void => {
    if (call.response.destroyed) return;
    if (!all && from > body.length / 2) return call.silence();
    if (from >= body.length) return void call.response.end();
    call.response.write(body.slice(from, from + size));
    setTimeout(next, 10, from + size);
  };
  next(0);
}

/** All that can go wrong with one call, by name. */
export const faults: readonly Fault[] = [
  { name: "no connection", strike: "no connection" },
  { name: "reset before processing", strike: (call) => call.reset() },
  {
    name: "reset after processing",
    strike: (call) => {
      call.process();
      call.reset();
    },
  },
  {
    name: "cut response",
    strike: (call) => {
      const { status, headers, body } = call.process();
      call.response.writeHead(status, {
        ...headers,
        "content-length": String(Buffer.byteLength(body)),
      });
      call.response.write(body.slice(0, body.length / 2), () => call.reset());
    },
  },
  { name: "slow body", strike: (call) => slowly(call, 20, true) },
  { name: "body that stops", strike: (call) => slowly(call, 4, false) },
  { name: "time-out before processing", strike: (call) => call.silence() },
  {
    name: "time-out after processing",
    strike: (call) => {
      call.process();
      call.silence();
    },
  },
  { name: "garbage", strike: replaced(200, () => page, html) },
  { name: "empty answer", strike: replaced(200, () => "") },
  { name: "other JSON", strike: replaced(200, () => ({ status: "UP" })) },
  { name: "wrong types", strike: replaced(0, wrongTypes) },
  { name: "wrong types of what is needed", strike: replaced(200, wrongEssentials) },
  { name: "500 before processing", strike: instead(500, unavailable) },
  { name: "502 after processing, HTML", strike: replaced(502, () => page, html) },
  {
    name: "503 before processing, Retry-After",
    strike: instead(503, unavailable, { ...json, "retry-after": "1" }),
  },
  { name: "504 after processing", strike: replaced(504, () => unavailable) },
  {
    name: "429, Retry-After",
    strike: instead(429, { ...tooMany, retryAfter: 1 }, { ...json, "retry-after": "1" }),
  },
  { name: "429", strike: instead(429, tooMany) },
  { name: "429, HTML", strike: instead(429, page, { ...html, "retry-after": "1" }) },
  {
    name: "ERROR application",
    strike: error(401, "APP-1", "application.apiKey", "the application or its key is wrong"),
  },
  {
    name: "ERROR credentials",
    strike: error(403, "CRED-1", "vault.credentials", "the vault credentials are wrong"),
  },
  { name: "ERROR locked", strike: error(423, "LOCK-1", "vaultUuid", "the vault is locked") },
  { name: "ERROR deleted", strike: error(410, "GONE-1", "vaultUuid", "the vault was deleted") },
  { name: "ERROR no such vault", strike: error(404, "GONE-2", "vaultUuid", "no such vault") },
  {
    name: "ERROR validation",
    strike: error(400, "VALID-1", "externalRef", "must have 1 to 64 characters"),
  },
  {
    name: "ERROR token",
    strike: error(400, "TOKEN-1", "token", "the token is unknown or has expired"),
  },
  { name: "ERROR unknown", strike: error(400, "E-77", undefined, "operation not possible") },
  { name: "ERROR with HTTP 200", strike: error(200, "E-78", undefined, "operation not possible") },
  { name: "redirect before processing", strike: instead(307, "", { location: "/elsewhere" }) },
  {
    name: "redirect after processing",
    strike: replaced(302, () => "", { location: "/elsewhere" }),
  },
  { name: "page of a gateway, 403", strike: instead(403, page, html) },
  {
    name: "body of 5 MiB",
    strike: replaced(0, (body) => ({ ...body, padding: "x".repeat(5 * 2 ** 20) })),
  },
  {
    name: "body of 65 MiB",
    strike: replaced(0, (body) => ({ ...body, padding: "x".repeat(65 * 2 ** 20) })),
  },
  {
    name: "wrong content type",
    strike: replaced(0, (body) => body, { "content-type": "text/plain" }),
  },
  { name: "service's clock 3 hours ahead", strike: (call) => call.send(call.process(3 * hour)) },
  { name: "service's clock 3 hours behind", strike: (call) => call.send(call.process(-3 * hour)) },
];
