import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request as forward } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { main } from "../../src/main.ts";
import { fakeHost, type FakeHost } from "./fake-host.ts";
import type { Certificate } from "./keys.ts";
import type { Lab, ManyVaults } from "./lab.ts";
import { expectExit, importAll, noVault, offlineNote, openLab } from "./lab.ts";
import { onLoopback } from "./servers.ts";
import { machineFor, type Machine } from "./machine.ts";
import { cleanEnv, type RunResult } from "./run-vault.ts";

/** Hands a request on to the service behind, and its answer back, unless that `isLost`. */
function handOn(
  behind: string,
  request: IncomingMessage,
  response: ServerResponse,
  isLost = false,
): void {
  const { method, headers } = request;
  const { host } = new URL(behind);
  const on = forward(
    new URL(request.url ?? "", behind),
    { method, headers: { ...headers, host } },
    (answer) => {
      if (isLost) return void response.socket?.destroy();
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  on.on("error", () => response.socket?.destroy());
  request.pipe(on);
}

export interface TlsFront {
  port: number;
  /** Connections of clients. */
  connections: Socket[];
}

/** TLS before a sandbox, as a load balancer does it: under any name. Closed after the test file. */
export async function startTlsFront(behind: string, certificate: Certificate): Promise<TlsFront> {
  const connections: Socket[] = [];
  const server = createTlsServer(certificate, (request, response) =>
    handOn(behind, request, response),
  );
  server.on("connection", (socket: Socket) => connections.push(socket));
  return { port: await onLoopback(server), connections };
}

/** What a gateway does with a request: hands it on, closes the connection before or after that, never answers, or answers itself. */
export type Rule =
  "pass" | "drop" | "lose" | "hang" | { status: number; type?: string; body?: string };

interface Gateway {
  baseUrl: string;
  /** Rules from now on; what is left out passes. `starts` may decide by the number of starts that came before, and by the path. */
  be(rules: {
    probes?: Rule | (() => Rule);
    starts?: Rule | ((before: number, path: string) => Rule);
    ends?: (path: string) => Rule;
  }): void;
  /** Starts and probes that came since `be`. */
  starts: () => number;
  probes: () => number;
  /** Whether it has to answer a request. */
  isBusy: () => boolean;
}

/** A gateway in front of a service on this machine. Stopped when the test file has ended. */
async function startGateway(behind: string): Promise<Gateway> {
  let rules: Parameters<Gateway["be"]>[0] = {};
  let [starts, probes, underWay] = [0, 0, 0];
  const ruleFor = (path: string): Rule => {
    if (path.includes(noVault)) {
      probes += 1;
      return typeof rules.probes === "function" ? rules.probes() : (rules.probes ?? "pass");
    }
    if (!path.endsWith("-start")) return rules.ends?.(path) ?? "pass";
    starts += 1;
    return typeof rules.starts === "function"
      ? rules.starts(starts - 1, path)
      : (rules.starts ?? "pass");
  };
  const server = createServer((asked, response) => {
    const rule = ruleFor(asked.url ?? "");
    if (rule !== "hang") {
      underWay += 1;
      response.on("close", () => (underWay -= 1));
    }
    if (rule === "pass" || rule === "lose") return handOn(behind, asked, response, rule === "lose");
    asked.resume().on("end", () => {
      if (rule === "drop") response.socket?.destroy();
      else if (rule !== "hang")
        response
          .writeHead(rule.status, { "content-type": rule.type ?? "text/html" })
          .end(rule.body ?? "<html></html>");
    });
  });
  const port = await onLoopback(server);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    be: (given) => {
      rules = given;
      [starts, probes] = [0, 0];
    },
    starts: () => starts,
    probes: () => probes,
    isBusy: () => underWay > 0,
  };
}

/** A machine behind a gateway, on one clock of their own that only waiting moves. */
export interface Behind {
  lab: Lab;
  gateway: Gateway;
  machine: Machine;
  clock: { time: number };
  vault(...args: string[]): Promise<RunResult>;
}

export async function behindGateway(count = 1): Promise<Behind> {
  let running: FakeHost | null = null;
  let before = Date.parse("2026-11-21T12:00:00Z");
  const clock = {
    get time() {
      return running?.now() ?? before;
    },
    set time(to) {
      before = to;
    },
  };
  const lab = await openLab(
    Array.from({ length: count }, () => offlineNote),
    { now: () => clock.time },
  );
  const gateway = await startGateway(lab.service.baseUrl);
  const machine = machineFor({ ...lab.service, baseUrl: gateway.baseUrl });
  const vault = async (...args: string[]): Promise<RunResult> => {
    const { home, env } = machine;
    const host = fakeHost({
      home,
      cwd: home,
      env: cleanEnv({ env }),
      now: clock.time,
      files: "real",
      isBusy: gateway.isBusy,
    });
    running = host;
    const code = await main(args, host);
    await host.flush();
    running = null;
    clock.time = host.now();
    return { code, signal: null, stdout: host.out, stderr: host.err };
  };
  return { lab, gateway, machine, clock, vault };
}

/** Many vaults that were all read once. */
export async function fleet(count: number): Promise<Behind & ManyVaults> {
  const behind = await behindGateway(count);
  await importAll(behind.lab, behind.machine);
  expectExit(await behind.vault("get", "--all", "-o", "ndjson", "--run", "first"), 0);
  return { ...behind, uuids: behind.lab.service.vaults.map(({ uuid }) => uuid) };
}
