import { faultSuite } from "./faults/suite.ts";

faultSuite("get", 16);
