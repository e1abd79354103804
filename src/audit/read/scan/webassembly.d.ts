/** As much of it as this program uses: its types come with those of browsers, which are not asked for. */
declare namespace WebAssembly {
  type Imports = Record<string, Record<string, (...numbers: number[]) => number | void>>;

  const Module: new (bytes: Uint8Array) => object;
  const Instance: new (module: object, imports: Imports) => { readonly exports: unknown };

  interface Global {
    readonly value: number;
  }

  interface Memory {
    /** Another one after it has grown. */
    readonly buffer: ArrayBuffer;
  }
}
