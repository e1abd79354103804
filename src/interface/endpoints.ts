/** The eight endpoints of the specification, section 4, as data. Paths are relative to base URL and prefix. */
export const kinds = ["credit-card/online", "credit-card/offline", "generic/offline"] as const;
export type Kind = (typeof kinds)[number];

export const operations = ["get", "update"] as const;
export type Operation = (typeof operations)[number];

export type Step = "start" | "end";

export interface Endpoint {
  kind: Kind;
  operation: Operation;
  step: Step;
  method: "POST" | "PUT";
  /** Path below the prefix, for one vault. */
  path(uuid: string): string;
}

function endpoint(kind: Kind, operation: Operation, step: Step): Endpoint {
  return {
    kind,
    operation,
    step,
    method: step === "start" ? "POST" : "PUT",
    path: (uuid) => `/vault/${kind}/${encodeURIComponent(uuid)}/${operation}-${step}`,
  };
}

export const endpoints: readonly Endpoint[] = [
  endpoint("credit-card/online", "get", "start"),
  endpoint("credit-card/online", "get", "end"),
  endpoint("credit-card/offline", "get", "start"),
  endpoint("credit-card/offline", "get", "end"),
  endpoint("generic/offline", "get", "start"),
  endpoint("generic/offline", "get", "end"),
  endpoint("credit-card/offline", "update", "start"),
  endpoint("credit-card/offline", "update", "end"),
];

/** The endpoint of a step, or undefined where the specification has none (an update of an online vault). */
export function findEndpoint(kind: Kind, operation: Operation, step: Step): Endpoint | undefined {
  return endpoints.find((e) => e.kind === kind && e.operation === operation && e.step === step);
}

export const isOnline = (kind: Kind): boolean => kind.endsWith("/online");
export const isCreditCard = (kind: Kind): boolean => kind.startsWith("credit-card/");
