import http from "node:http";
import type { AddressInfo } from "node:net";
import { atEndOfFile } from "./end-of-file.ts";

/** Every spelling in which a careless service may repeat what it was sent. */
export const spellings: Readonly<Record<string, (text: string) => string>> = {
  asItIs: (text) => text,
  jsonEscaped: (text) => JSON.stringify(text).slice(1, -1),
  base64: (text) => Buffer.from(text).toString("base64"),
  hex: (text) => Buffer.from(text).toString("hex"),
};

/**
 * A service that refuses everything and repeats all that it was sent in its messages: values of the body and headers, in
 * every spelling. Resolves to its base URL.
 */
export async function startEchoService(status: number, property: string): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const values = [
        body,
        ...stringsIn(JSON.parse(body)),
        ...Object.values(request.headers).map(String),
      ];
      const message = Object.values(spellings)
        .flatMap((spell) => values.map(spell))
        .join(" | ");
      const refusal = {
        status: "ERROR",
        code: "ECHO",
        detailedErrors: [{ property, message, errorReasons: values }],
      };
      response.writeHead(status, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          responseStatus: refusal,
          errorUuid: "123e4567-e89b-42d3-a456-426614174000",
        }),
      );
    });
  });
  atEndOfFile(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
