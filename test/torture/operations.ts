import { exchanges } from "./exchange-operations.ts";
import { keeping, migration } from "./keeping-operations.ts";
import { heldOnes, leftOnes } from "./left-exchanges.ts";
import type { Operation } from "./operation.ts";

export const operations: readonly Operation[] = [...exchanges, ...leftOnes, ...heldOnes, ...keeping, migration];
