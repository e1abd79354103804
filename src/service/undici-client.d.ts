/**
 * The part of undici that this program loads: its client alone. `import "undici"` would cost as much time again, for
 * fetch, WebSocket, caches and mocks (DESIGN, What time costs). The package names no exports, so deep paths are open;
 * its version is pinned, and test/service/loading.test.ts holds that they work, as source and bundled.
 */
declare module "undici/lib/dispatcher/client.js" {
  export { Client as default } from "undici";
}

declare module "undici/lib/core/connect.js" {
  import type { buildConnector } from "undici";
  import type { Socket } from "node:net";
  /** The connector also returns the socket while it is still connecting. */
  type Connector = (...args: Parameters<buildConnector.connector>) => Socket;
  const build: (options: buildConnector.BuildOptions) => Connector;
  export default build;
}
