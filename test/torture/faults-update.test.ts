import { faultSuite } from "./fault-suite.ts";

faultSuite("update", 16);
