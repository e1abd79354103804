import { fileURLToPath } from "node:url";
import type { Plugin } from "rolldown";

/** Its own switch, which leaves out an experimental parser. */
export const undiciSwitch = { esbuildDetection: '"yes"' };

const file = (path: string): string => fileURLToPath(import.meta.resolve(`undici/lib/${path}`));

/**
 * Bundles of undici what the client uses: one HTTP/1.1 client and its connector, 160 kB of 1.5 MB, which load in a third of the time. Its
 * web interfaces and HTTP/2 are left out, the parser for processors without SIMD, and Node's own HTTP, of which it would read a constant
 * (a twentieth of a `get`).
 */
export function trimUndici(): Plugin {
  const whole = "\0undici";
  const nothing = "\0nothing";
  return {
    name: "trim-undici",
    resolveId(source, importer = "") {
      if (source === "undici") return whole;
      if (!importer.includes("/node_modules/undici/")) return undefined;
      if (source.endsWith("/llhttp-wasm.js")) return file("llhttp/llhttp_simd-wasm.js");
      return /client-h2|node:http2?$|\/web\//.test(source) ? nothing : undefined;
    },
    load(id) {
      if (id === nothing) return "module.exports = { maxHeaderSize: 16_384 };";
      if (id !== whole) return undefined;
      return `export { default as Client } from "${file("dispatcher/client.js")}";
        export { default as buildConnector } from "${file("core/connect.js")}";`;
    },
  };
}
