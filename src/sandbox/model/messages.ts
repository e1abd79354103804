/** A request to the handler. */
export interface SandboxRequest {
  method: string;
  /** Path as sent, with the query. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  body: string;
  remoteAddress: string;
}

/** A response, and how the server sends it. */
export interface SandboxResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Milliseconds between processing and responding. */
  delayMs?: number;
  /** `drop`: close the connection; `cut`: send half of the body, then close it; `hang`: never respond. */
  transport?: "drop" | "cut" | "hang";
  /** Called when all of it has been sent. */
  afterwards?: () => void;
}
