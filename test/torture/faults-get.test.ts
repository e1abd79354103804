import { faultSuite } from "./fault-suite.ts";

faultSuite("get", 16);
