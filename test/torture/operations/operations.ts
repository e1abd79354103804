import { exchanges, heldOnes, leftOnes } from "./exchanges.ts";
import { keeping, migration } from "./keeping.ts";
import { many } from "./many.ts";
import type { Operation } from "./operation.ts";

export const operations: readonly Operation[] = [
  ...exchanges,
  ...leftOnes,
  ...heldOnes,
  ...keeping,
  migration,
  ...many,
];

/** Those that are tried on a shared state, too: what all steps are of, and what leaves nothing in files. */
const alike =
  /^(get|update|ack of a held exchange|the last read of a limited vault|import|forget|get of three vaults)$/;
export const sharedOperations = operations.filter(({ name }) => alike.test(name));
