// Functions of the host (src/audit/read/scan/scanner.ts), which are called rarely.

/** Parses a time in any form. Returns NaN for a text that is not a time. */
export declare function timeOf(from: usize, to: usize): f64;

/** Returns the kind of an item by the numbers of its action and outcome (-1 for none), or `ask` if it depends on the description. */
export declare function classify(action: i32, outcome: i32): i32;

/** Returns the kind of an item with the description between two addresses; `from` is 0 if there is none. */
export declare function classifyDescribed(action: i32, outcome: i32, from: usize, to: usize): i32;

/** Counts an item whose kind has the flag `counted`. */
export declare function count(action: i32, kind: i32): void;
