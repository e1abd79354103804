/** The part of WebAssembly that this program uses: its types come only with those of browsers. */
declare namespace WebAssembly {
  type Imports = Record<string, Record<string, (...numbers: number[]) => number | void>>;

  const Module: new (bytes: Uint8Array) => object;
  const Instance: new (module: object, imports: Imports) => { readonly exports: unknown };

  interface Global {
    readonly value: number;
  }

  interface Memory {
    /** Replaced when memory grows. */
    readonly buffer: ArrayBuffer;
  }
}
