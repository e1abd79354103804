import type { Plugin } from "rolldown";
import { packageOf } from "./inventory.ts";

/**
 * Builtins that cost a part of a bare start, and are loaded at the first use of what was imported:
 * crypto and net a fifth of one, zlib a tenth, and child_process a sixth, which commander imports
 * for subcommands that are programs of their own.
 */
export function lazyBuiltins(): Plugin {
  const own = ["node:crypto", "node:net", "node:zlib"];
  const prefix = "\0lazy:";
  return {
    name: "lazy-builtins",
    resolveId(source, importer = "") {
      const by = packageOf(importer);
      const isLazy =
        by === "commander"
          ? source === "node:child_process"
          : own.includes(source) && by !== "undici";
      return isLazy ? `${prefix}${source}` : undefined;
    },
    load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const builtin = id.slice(prefix.length);
      const all = process.getBuiltinModule(builtin) as object;
      const names = Object.entries(all).flatMap(([name, value]) =>
        typeof value === "function" ? [name] : [],
      );
      const load = `() => process.getBuiltinModule(${JSON.stringify(builtin)})`;
      const lazy = `(name) => function (...args) { const f = load()[name]; return new.target ? Reflect.construct(f, args) : f(...args); }`;
      const exported = names.map((name) => `export const ${name} = lazy("${name}");`);
      return `const load = ${load};\nconst lazy = ${lazy};\n${exported.join("\n")}\nexport default { ${names.join(", ")} };\n`;
    },
  };
}
