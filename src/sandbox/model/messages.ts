/** A request as the handler sees it. */
export interface SandboxRequest {
  method: string;
  /** Path as sent, a query included. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  body: string;
  remoteAddress: string;
}

/** An answer on its way to the socket, and what happens to it there. */
export interface SandboxResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Milliseconds between processing and answering. */
  delayMs?: number;
  /** `drop`: the connection is closed; `cut`: half of the body is sent before; `hang`: nothing happens, ever. */
  transport?: "drop" | "cut" | "hang";
}
