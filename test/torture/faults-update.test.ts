import { faultSuite } from "./faults/suite.ts";

faultSuite("update", 16);
