import { afterAll } from "vitest";
import "./answer-statfs.cjs";
import { endFile } from "./cleanup.ts";

afterAll(endFile);
