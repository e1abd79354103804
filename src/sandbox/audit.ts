import type { Endpoint } from "../interface/endpoints.ts";
import { newUuid } from "./random.ts";
import type { AuditAction, AuditItem } from "./state.ts";
import type { World } from "./world.ts";

/** Appends an item, at the present unless a time is given. */
export function record(world: World, item: Partial<AuditItem> & Pick<AuditItem, "action" | "description">, time = world.now): void {
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

/** The action of a step: what a start begins, what an end acknowledges. */
export function actionOf(endpoint: Pick<Endpoint, "operation" | "step">): AuditAction {
  const action = endpoint.operation === "get" ? "READ_VAULT" : "UPDATE_VAULT";
  return endpoint.step === "start" ? action : `ACKNOWLEDGE_${action}`;
}
