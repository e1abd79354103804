import { createServer, request as forward } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { atEndOfFile } from "./end-of-file.ts";

/** What a gateway does with a request: hands it on, closes the connection before or after that, never answers, or answers itself. */
export type Rule =
  "pass" | "drop" | "lose" | "hang" | { status: number; type?: string; body?: string };

export interface Gateway {
  baseUrl: string;
  /** Rules from now on; what is left out passes. `starts` may decide by the number of starts that came before. */
  be(rules: { probes?: Rule; starts?: Rule | ((before: number) => Rule); ends?: () => Rule }): void;
  /** Starts and probes that came since `be`. */
  starts: () => number;
  probes: () => number;
}

const noVault = "00000000-0000-0000-0000-000000000000";

/** A gateway in front of a service on this machine. Stopped when the test file has ended. */
export async function startGateway(behind: string): Promise<Gateway> {
  let rules: Parameters<Gateway["be"]>[0] = {};
  let [starts, probes] = [0, 0];
  const handOn = (asked: IncomingMessage, response: ServerResponse, loses: boolean): void => {
    const { method, headers } = asked;
    const on = forward(new URL(asked.url ?? "", behind), { method, headers }, (answer) => {
      if (loses) return void response.socket?.destroy();
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    on.on("error", () => response.socket?.destroy());
    asked.pipe(on);
  };
  const ruleFor = (path: string): Rule => {
    if (path.includes(noVault)) {
      probes += 1;
      return rules.probes ?? "pass";
    }
    if (!path.endsWith("-start")) return rules.ends?.() ?? "pass";
    starts += 1;
    return typeof rules.starts === "function" ? rules.starts(starts - 1) : (rules.starts ?? "pass");
  };
  const server = createServer((asked, response) => {
    const rule = ruleFor(asked.url ?? "");
    if (rule === "pass" || rule === "lose") return handOn(asked, response, rule === "lose");
    asked.resume().on("end", () => {
      if (rule === "drop") response.socket?.destroy();
      else if (rule !== "hang")
        response
          .writeHead(rule.status, { "content-type": rule.type ?? "text/html" })
          .end(rule.body ?? "<html></html>");
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  atEndOfFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    be: (given) => {
      rules = given;
      [starts, probes] = [0, 0];
    },
    starts: () => starts,
    probes: () => probes,
  };
}
