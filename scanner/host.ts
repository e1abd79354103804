/** What the program is asked, seldom. */

/** The time that a text says, in whatever form; NaN for none. */
export declare function timeOf(from: usize, to: usize): f64;

/** The kind of an item by the numbers of its action and its outcome (-1 for none); `ask` where its description has to be asked. */
export declare function classify(action: i32, outcome: i32): i32;

/** The same with the description between two places; there is none where `from` is 0. */
export declare function classifyDescribed(action: i32, outcome: i32, from: usize, to: usize): i32;

/** Counts an item that is one to be told of. */
export declare function count(action: i32, kind: i32): void;
