import type { Endpoint } from "../interface/endpoints.ts";
import { endpoints } from "../interface/endpoints.ts";

export type Route =
  | { type: "vault"; endpoint: Endpoint; uuid: string }
  | { type: "control"; path: string }
  /** The path is one of the service's, with another method. */
  | { type: "method"; allow: string }
  | { type: "unknown" };

/** What a request is for. A query is ignored. */
export function findRoute(prefix: string, method: string, target: string): Route {
  const path = target.split("?", 1)[0] ?? "";
  if (path === "/sandbox" || path.startsWith("/sandbox/")) return { type: "control", path: path.slice("/sandbox".length) };
  if (!path.startsWith(`${prefix}/`)) return { type: "unknown" };
  const segments = path.slice(prefix.length).split("/");
  const [, vault, type, mode, uuid] = segments;
  if (vault !== "vault" || uuid === undefined || segments.length !== 6) return { type: "unknown" };
  const step = segments[5];
  const endpoint = endpoints.find((e) => e.kind === `${type}/${mode}` && `${e.operation}-${e.step}` === step);
  if (endpoint === undefined) return { type: "unknown" };
  return endpoint.method === method ? { type: "vault", endpoint, uuid: decode(uuid) } : { type: "method", allow: endpoint.method };
}

/** What cannot be decoded stays as it is, and is then refused as a uuid. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
