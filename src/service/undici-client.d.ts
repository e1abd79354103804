/**
 * The part of undici that this program loads: only its client. `import "undici"` would take twice the time, for fetch, WebSocket,
 * caches and mocks (DESIGN, What time costs). The package declares no exports, so deep paths work; its version is pinned, and
 * test/service/loading.test.ts checks them, as source and bundled.
 */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici";
}

declare module "undici/lib/core/connect.js" {
  import type { buildConnector } from "undici";
  import type { Socket } from "node:net";
  /** Also returns the socket, while it is still connecting. */
  type Connector = (...args: Parameters<buildConnector.connector>) => Socket;
  const build: (options: buildConnector.BuildOptions) => Connector;
  export default build;
}
