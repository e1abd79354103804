import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import { endpoints, singleEndpoints } from "../../protocol/endpoints.ts";

export type Route =
  | { type: "vault"; endpoint: AnyEndpoint; uuid: string }
  | { type: "control"; path: string }
  /** The path is one of the service's, with another method. */
  | { type: "method"; allow: string }
  | { type: "unknown" };

/** What a request is for. A query is ignored. */
export function findRoute(prefix: string, method: string, target: string): Route {
  const path = target.split("?", 1)[0] ?? "";
  if (path === "/sandbox" || path.startsWith("/sandbox/")) return { type: "control", path: path.slice("/sandbox".length) };
  if (!path.startsWith(`${prefix}/`)) return { type: "unknown" };
  const [, vault, type, mode, uuid, ...rest] = path.slice(prefix.length).split("/");
  const shape = ["", vault, type, mode, ...(uuid === undefined ? [] : [placeholder, ...rest])].join("/");
  const all: readonly AnyEndpoint[] = [...endpoints, ...singleEndpoints];
  const endpoint = all.find((e) => e.path(placeholder) === shape);
  if (endpoint === undefined) return { type: "unknown" };
  return endpoint.method === method ? { type: "vault", endpoint, uuid: decode(uuid ?? "") } : { type: "method", allow: endpoint.method };
}

/** In the place of any uuid. */
const placeholder = "-";

/** What cannot be decoded stays as it is, and is then refused as a uuid. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
