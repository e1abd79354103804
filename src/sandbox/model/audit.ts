import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import { newUuid } from "../seeds/random.ts";
import type { AuditAction, AuditItem, World } from "./state.ts";

/** Appends an audit item, at the current time by default. */
export function record(
  world: World,
  item: Partial<AuditItem> & Pick<AuditItem, "action" | "description">,
  time = world.now,
): void {
  world.state.audit.push({
    id: newUuid(world.random),
    time: new Date(time).toISOString(),
    outcome: "SUCCESS",
    vaultUuid: null,
    applicationUuid: world.state.application.uuid,
    externalRef: null,
    ipAddress: null,
    endpoint: null,
    ...item,
  });
}

const actions = {
  get: "READ_VAULT",
  update: "UPDATE_VAULT",
  create: "CREATE_VAULT",
  delete: "DELETE_VAULT",
  info: null,
} as const;

/** Returns the audit action of a call (docs/interface.md, Audit items); null for an info call, which has none. */
export function actionOf({
  operation,
  step,
}: Pick<AnyEndpoint, "operation" | "step">): AuditAction | null {
  if (step !== "end") return actions[operation];
  return operation === "get" ? "ACKNOWLEDGE_READ_VAULT" : "ACKNOWLEDGE_UPDATE_VAULT";
}
