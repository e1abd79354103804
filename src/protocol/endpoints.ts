/**
 * The endpoints as data: the eight documented ones (docs/interface.md, Endpoints), and the extended ones, whose shapes are not
 * documented (docs/interface.md, Extended operations). Paths are relative to base URL and prefix.
 */
export const kinds = [
  "credit-card/online",
  "credit-card/offline",
  "generic/offline",
  "generic/online",
] as const;
export type Kind = (typeof kinds)[number];

/** Operations of two calls, a start and an end, which rotate credentials. */
export const operations = ["get", "update"] as const;
export type Operation = (typeof operations)[number];

/** Operations of one call; all of them are extended. */
export const singleOperations = ["info", "create", "delete"] as const;
export type SingleOperation = (typeof singleOperations)[number];

export type Step = "start" | "end";

export interface Endpoint {
  kind: Kind;
  operation: Operation | SingleOperation;
  step: Step | "single";
  method: "POST" | "PUT" | "GET" | "DELETE";
  /** Not part of the documented interface: read leniently. */
  extended: boolean;
  /** Where the application is sent: in the body or in two headers (docs/interface.md, Application key). */
  applicationIn: "body" | "headers";
  /** Path below the prefix, for one vault; a create has none yet. */
  path(uuid: string): string;
}

/** The endpoint of a single operation, which every kind has. The method of a delete is unconfirmed. */
export function singleEndpoint(kind: Kind, operation: SingleOperation): Endpoint {
  const below = (uuid: string): string =>
    ({ info: `/${uuid}/info`, create: "", delete: `/${uuid}` })[operation];
  return {
    kind,
    operation,
    step: "single",
    method: ({ info: "GET", create: "POST", delete: "DELETE" } as const)[operation],
    extended: true,
    applicationIn: operation === "info" ? "headers" : "body",
    path: (uuid) => `/vault/${kind}${below(encodeURIComponent(uuid))}`,
  };
}

const started = (kind: Kind, operation: Operation, extended: boolean): Endpoint[] =>
  (["start", "end"] as const).map((step) => ({
    kind,
    operation,
    step,
    method: step === "start" ? "POST" : "PUT",
    extended,
    applicationIn: step === "start" ? "body" : "headers",
    path: (uuid) => `/vault/${kind}/${encodeURIComponent(uuid)}/${operation}-${step}`,
  }));

export const endpoints: readonly Endpoint[] = [
  ...started("credit-card/online", "get", false),
  ...started("credit-card/offline", "get", false),
  ...started("generic/offline", "get", false),
  ...started("credit-card/offline", "update", false),
  ...started("generic/online", "get", true),
  ...started("generic/offline", "update", true),
  ...kinds.flatMap((kind) => singleOperations.map((each) => singleEndpoint(kind, each))),
];

/** The endpoint of a step, or undefined if the interface has none, as for an update of an online vault. */
export function findEndpoint(kind: Kind, operation: string, step: Step): Endpoint | undefined {
  return endpoints.find((e) => e.kind === kind && e.operation === operation && e.step === step);
}

export const isOnline = (kind: Kind): boolean => kind.endsWith("/online");
export const isCreditCard = (kind: Kind): boolean => kind.startsWith("credit-card/");

/** The kinds for help texts, with a mark on those whose read is an extended operation. */
export const kindList: string = joined(
  kinds.map((kind) =>
    findEndpoint(kind, "get", "start")?.extended === true ? `${kind} (extended)` : kind,
  ),
  "or",
);

/** Joins words for a sentence: `a, b or c`. */
export function joined(words: readonly string[], last: "and" | "or"): string {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}

/** The uuid of no vault, which a probe asks for. */
export const noVault = "00000000-0000-0000-0000-000000000000";
