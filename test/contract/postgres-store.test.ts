import { sharedState } from "../support/shared-state.ts";
import { describeStore } from "./store-contract.ts";

describeStore("PostgreSQL", sharedState);
