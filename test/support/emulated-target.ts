import type { Target } from "../../src/service/request.ts";

export const application = {
  apiKey: "0a0a0a0a-1111-4222-8333-444444444444",
  uuid: "0b0b0b0b-1111-4222-8333-444444444444",
};

/** Where calls go that reach the emulated service without a socket. */
export const target: Target = {
  baseUrl: "https://vaults.test",
  apiPrefix: "/vaultsvc/v1-2",
  application,
  version: "test",
};

/** What its vault holds. */
export const creditCard = {
  number: "4111111111111111",
  name: "Ada Lovelace",
  expiryMonth: 4,
  expiryYear: 2031,
};
