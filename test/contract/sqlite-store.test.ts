import { temporaryState } from "../store/temporary-state.ts";
import { describeStore } from "./store-contract.ts";

describeStore("SQLite", () => temporaryState());
