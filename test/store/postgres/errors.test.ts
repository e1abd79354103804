import { expect, it } from "vitest";
import { VaultError } from "../../../src/errors.ts";
import { connectionReason, isKeptOut } from "../../../src/store/postgres/errors.ts";

it.each([
  ["28P01", "password authentication failed", true],
  ["", "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string", true],
  ["28000", "certificate authentication failed", true],
  ["28000", "no pg_hba.conf entry", true],
  ["42501", "permission denied for database", true],
  ["53300", "sorry, too many clients already", true],
  ["57P03", "the database system is starting up", true],
  ["3D000", "the database does not exist", false],
  ["ECONNREFUSED", "connect ECONNREFUSED", false],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", false],
])("tells a server that keeps us out from one that may be gone: %s %s", (code, message, is) => {
  const { why, ...facts } = connectionReason(Object.assign(new Error(message), { code }));
  expect(isKeptOut(new VaultError("state", why, facts))).toBe(is);
});
