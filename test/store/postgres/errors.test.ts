import { expect, it } from "vitest";
import { VaultError } from "../../../src/errors.ts";
import { absent, codeOf, connectionReason } from "../../../src/store/postgres/errors.ts";

it.each([
  ["28P01", "password authentication failed", false],
  ["", "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a non-empty string", false],
  ["28000", "certificate authentication failed", false],
  ["28000", "no pg_hba.conf entry", false],
  ["42501", "permission denied for database", false],
  ["53300", "sorry, too many clients already", false],
  ["57P01", "terminating connection due to administrator command", false],
  ["57P03", "the database system is starting up", false],
  ["08P01", "server login has been failing, try again later", false],
  ["XX000", "could not open file", false],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", false],
  ["", "The server does not support SSL connections", false],
  ["", "Unknown authenticationOk message type 7", false],
  ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", "ssl/tls alert handshake failure", false],
  ["EMFILE", "connect EMFILE", false],
  ["08P01", "no such database: vaults", true],
  ["", "timeout expired", true],
  ["3D000", "the database does not exist", true],
  ["ECONNREFUSED", "connect ECONNREFUSED", true],
  ["EPIPE", "write EPIPE", true],
  ["", "Connection terminated unexpectedly", true],
])("tells a server that answers from one that may be gone: %s %s", (code, message, is) => {
  const { why, ...facts } = connectionReason(Object.assign(new Error(message), { code }));
  const error = new VaultError("state", why, { cause: absent, ...facts });
  expect(codeOf(error) === absent.code).toBe(is);
});
