import { temporaryState } from "../state/temporary-state.ts";
import { describeStore } from "./store-contract.ts";

describeStore("SQLite", () => temporaryState());
