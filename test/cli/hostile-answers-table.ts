import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { withVault, type Answered, type Malice } from "../support/hostile-service.ts";

type Json = Record<string, unknown>;

/** What a service, or what stands in its place, may do with one request. */
export interface Hostile {
  what: string;
  malice: Malice;
  /** The answer is one by the rules of the interface all the same: it may be taken. */
  good: boolean;
}

const deep = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const deepObjects = (depth: number): string => '{"a":'.repeat(depth) + "1" + "}".repeat(depth);

const hostile = (what: string, malice: Malice, isGood = false): Hostile => ({
  what,
  malice,
  good: isGood,
});

const raw = (what: string, bytes: (body: string) => string, isGood = false): Hostile =>
  hostile(what, (_, { good, socket }) => socket.end(bytes(JSON.stringify(good))), isGood);
const headed = (what: string, headers: (length: number) => string[], isGood = false): Hostile =>
  raw(
    what,
    (body) => `HTTP/1.1 200 OK\r\n${headers(Buffer.byteLength(body)).join("\r\n")}\r\n\r\n${body}`,
    isGood,
  );
/** The good answer as another text. */
const rewritten = (
  what: string,
  text: (body: string) => string | Buffer,
  isGood = false,
): Hostile => hostile(what, (_, { good, send }) => send(text(JSON.stringify(good))), isGood);

/** Writes it again and again until the client has had enough. */
function endlessly({ socket }: Answered, begin: string, piece: string): void {
  const again = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", again);
  socket.write(begin);
  again();
}

const http: Hostile[] = [
  raw("no status line (HTTP/0.9)", (body) => body),
  raw("a status line alone", () => "HTTP/1.1 200 OK\r\n"),
  raw("a status of two digits", (body) => `HTTP/1.1 20 OK\r\n\r\n${body}`),
  raw("a status of four digits", (body) => `HTTP/1.1 2000 OK\r\n\r\n${body}`),
  raw("a status that is no number", (body) => `HTTP/1.1 OK OK\r\n\r\n${body}`),
  raw("another protocol", (body) => `ICY 200 OK\r\n\r\n${body}`),
  raw("HTTP/2 without being asked", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  raw("zeros", () => "\0".repeat(4096)),
  raw("nothing", () => ""),
  headed("two lengths that agree", (length) => [
    `content-length: ${length}`,
    `content-length: ${length}`,
  ]),
  headed("two lengths that differ", (length) => [
    `content-length: ${length}`,
    `content-length: ${length - 1}`,
  ]),
  headed("a length and chunks", (length) => [
    `content-length: ${length}`,
    "transfer-encoding: chunked",
  ]),
  headed("a negative length", () => ["content-length: -1"]),
  headed("a length beyond all numbers", () => [`content-length: ${"9".repeat(40)}`]),
  headed("a length of an exabyte", () => ["content-length: 1000000000000000000"]),
  headed("a length that is longer by one", (length) => [`content-length: ${length + 1}`]),
  headed("a length that is shorter by one", (length) => [`content-length: ${length - 1}`]),
  headed("a header with NUL", (length) => [`x: a\0b`, `content-length: ${length}`]),
  headed("a folded header", (length) => ["x: a", " b", `content-length: ${length}`]),
  headed("a header without a name", (length) => [": a", `content-length: ${length}`]),
  headed(
    "a thousand headers",
    (length) => [
      ...Array.from({ length: 1000 }, (_, n) => `x-${n}: y`),
      `content-length: ${length}`,
    ],
    true,
  ),
  headed("ten thousand headers", (length) => [
    ...Array.from({ length: 10_000 }, (_, n) => `x-${n}: y`),
    `content-length: ${length}`,
  ]),
  headed("a header of a megabyte", (length) => [
    `x: ${"y".repeat(1_000_000)}`,
    `content-length: ${length}`,
  ]),
  headed(
    "a header of prototypes",
    (length) => ["__proto__: x", "constructor: y", `content-length: ${length}`],
    true,
  ),
  headed("chunks that are none", () => ["transfer-encoding: chunked"]),
  headed("an encoding that nobody knows", (length) => [
    "transfer-encoding: rot13",
    `content-length: ${length}`,
  ]),
  raw(
    "a chunk beyond all sizes",
    (body) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"f".repeat(40)}\r\n${body}`,
  ),
  raw(
    "a hundred announcements first",
    (body) =>
      `${"HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n".repeat(100)}HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    true,
  ),
  raw(
    "another protocol from here on",
    () => "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx",
  ),
  raw(
    "a second answer behind the first",
    (body) =>
      `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\n{}`,
    true,
  ),
  hostile("announcements without end", (_, answered) =>
    endlessly(answered, "", "HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n".repeat(100)),
  ),
  hostile("headers without end", (_, answered) =>
    endlessly(answered, "HTTP/1.1 200 OK\r\n", `x: ${"y".repeat(1000)}\r\n`),
  ),
  hostile("a body without end", (_, answered) =>
    endlessly(answered, "HTTP/1.1 200 OK\r\n\r\n", " ".repeat(65_536)),
  ),
  hostile("chunks without end", (_, answered) =>
    endlessly(
      answered,
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
      `4000\r\n${" ".repeat(0x4000)}\r\n`,
    ),
  ),
  hostile(
    "headers that stop coming",
    (_, { socket }) => void socket.write("HTTP/1.1 200 OK\r\nx: "),
  ),
  hostile(
    "a body that stops coming",
    (_, { socket }) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
  ),
];

const compress = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
const compressed = Object.entries(compress).flatMap(([name, pack]): Hostile[] => [
  hostile(`compressed: ${name}`, (_, { good, send }) =>
    send(pack(JSON.stringify(good)), 200, { "content-encoding": name }),
  ),
  hostile(`a bomb: ${name}`, (_, { send }) =>
    send(pack(Buffer.alloc(32_000_000, " ")), 200, { "content-encoding": name }),
  ),
  hostile(
    `said to be ${name}, and is not`,
    (_, { good, send }) => send(good, 200, { "content-encoding": name }),
    true,
  ),
]);

/** `elsewhere` is a place whose connections are counted: there must be none. */
export const redirects = (elsewhere: string): Hostile[] =>
  [301, 302, 303, 307, 308].flatMap((status) =>
    [
      `${elsewhere}/vault`,
      "/elsewhere",
      "//127.0.0.1/",
      elsewhere.replace("http:", "https:"),
      "javascript:alert(1)",
      "\u0000",
    ].map((location) =>
      hostile(`${status} to ${JSON.stringify(location)}`, (_, { socket }) =>
        socket.end(
          `HTTP/1.1 ${status} Elsewhere\r\nlocation: ${location}\r\ncontent-length: 2\r\n\r\n[]`,
        ),
      ),
    ),
  );

const odd = ["application/json; charset=utf-16", "", "multipart/form-data; boundary=x"];
const types = ["text/html", "application/xml", ...odd].map((type): Hostile =>
  hostile(`type ${type}`, (_, { good, send }) => send(good, 200, { "content-type": type }), true),
);

/** The good answer as text, with `"HERE"` at the top level and in the vault put in the place of `text`. */
const withText = (what: string, text: string, isGood = false): Hostile =>
  hostile(
    what,
    (_, { good, send }) => {
      const marked = { ...("vault" in good ? withVault(good, { x: "HERE" }) : good), x: "HERE" };
      send(JSON.stringify(marked).replaceAll('"HERE"', text));
    },
    isGood,
  );

/** An error with more in its `responseStatus`. */
const refusal = (what: string, more: string, status = 418): Hostile =>
  hostile(what, (_, { send }) => send(`{"responseStatus":{"status":"ERROR",${more}}}`, status));

const forms: Hostile[] = [
  rewritten("a byte-order mark", (body) => `\uFEFF${body}`, true),
  rewritten("UTF-16", (body) => Buffer.from(`\uFEFF${body}`, "utf16le")),
  rewritten("bytes that are not UTF-8", (body) =>
    Buffer.from(`${body.slice(0, -1)},"x":"\xff"}`, "latin1"),
  ),
  rewritten("two documents", (body) => body.repeat(2)),
  rewritten("a document in a string", (body) => JSON.stringify(body)),
  rewritten("a list of documents", (body) => `[${body}]`),
  rewritten("comments", (body) => `/* */${body}`),
  rewritten("a comma too many", (body) => body.replace(/}$/, ",}")),
  withText("lists in lists, 100,000 deep", deep(100_000)),
  withText("objects in objects, 100,000 deep", deepObjects(100_000)),
  withText("lists in lists, 5,000 deep", deep(5000)),
  withText("lists in lists, 50 deep", deep(50), true),
  withText("four million brackets that are never closed", "[".repeat(4_000_000)),
  withText("a number beyond all numbers", "1e999999", true),
  withText("a number of a million digits", "9".repeat(1_000_000), true),
  withText("prototypes", '{"__proto__":{"status":"SUCCESS"},"constructor":{"prototype":{}}}', true),
  withText("half a character and a NUL", '"\\ud800\\u0000"', true),
  withText("not a number", "NaN"),
  rewritten("a prototype at the top", (body) => `{"__proto__":${body}}`),
  rewritten("a constructor at the top", (body) => `{"constructor":${body}}`),
  rewritten("the status twice, the error last", (body) =>
    body.replace(/}$/, ',"responseStatus":{"status":"ERROR"}}'),
  ),
  rewritten(
    "the status twice, the success last",
    (body) => body.replace("{", '{"responseStatus":{"status":"ERROR"},'),
    true,
  ),
  refusal("an error, 100,000 deep", `"x":${deep(100_000)}`, 400),
  refusal("an error of a server, 100,000 deep", `"x":${deep(100_000)}`, 500),
  refusal(
    "an error of a hundred thousand details",
    `"detailedErrors":[${'{"message":"no"},'.repeat(99_999)}{"message":"no"}]`,
  ),
  refusal(
    "details of the wrong kind",
    '"code":{},"detailedErrors":[null,1,[],{"message":{},"property":[],"errorReasons":7}]',
  ),
  ...Object.entries({ "99999999999": 1e15, NaN: -1e300 }).map(([header, retryAfter]) =>
    hostile(`a wait of ${header}`, (_, { send }) =>
      send({ responseStatus: { status: "ERROR" }, retryAfter }, 429, { "retry-after": header }),
    ),
  ),
];

const another = "99999999-8888-4777-8666-555555555555";
const token =
  (change: Json): Malice =>
  (_, { good, send }) =>
    send(
      "transactionToken" in good
        ? { ...good, transactionToken: { ...(good["transactionToken"] as Json), ...change } }
        : good,
    );
const vault = (what: string, change: Json, isGood = false): Hostile =>
  hostile(
    `a vault with ${what}`,
    (_, { good, send }) => send("vault" in good ? withVault(good, change) : { ...good, ...change }),
    isGood,
  );

/** For the answers that hand out a vault. */
export const vaults: Hostile[] = [
  vault("the uuid of another", { uuid: another }),
  ...[[], {}, 7, null, ""].map((uuid) => vault(`the uuid ${JSON.stringify(uuid)}`, { uuid })),
  ...[
    [],
    {},
    7,
    null,
    "",
    "pair",
    { encryptedData: "a" },
    { encryptedData: ["a"], payload: {} },
  ].map((credentials) => vault(`the credentials ${JSON.stringify(credentials)}`, { credentials })),
  ...["\u0000", "\uD800", "\u2028\r\n", "x".repeat(1_000_000)].map((text) =>
    vault(
      `the pair ${JSON.stringify(text.slice(0, 9))}`,
      { credentials: { encryptedData: `${text}1`, payload: text } },
      true,
    ),
  ),
  ...[-1, 0, 1e308, 2 ** 53, 0.5, "1", null, []].map((usesRemaining) =>
    vault(`${JSON.stringify(usesRemaining)} uses`, { usesRemaining }, true),
  ),
  ...[
    "+275760-09-13T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "\u001B[2J",
    1e300,
    {},
    [],
  ].map((date) =>
    vault(
      `the dates ${JSON.stringify(date)}`,
      { expiryDate: date, autoLockDate: date, dateCreated: date, lastModified: date },
      true,
    ),
  ),
  ...[null, "", {}, [], 7].map((text): Hostile =>
    hostile(`the token ${JSON.stringify(text)}`, token({ token: text })),
  ),
  ...["\u0000\uD800\r\n", "x".repeat(1_000_000)].map((text): Hostile =>
    hostile(`the token ${JSON.stringify(text.slice(0, 9))}`, token({ token: text }), true),
  ),
  ...["0000-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z", null, 7, "soon"].map(
    (expiry): Hostile =>
      hostile(
        `a token until ${JSON.stringify(expiry)}`,
        token({ expiry, timeToExpire: "soon" }),
        true,
      ),
  ),
];

export const answers: Hostile[] = [...http, ...compressed, ...types, ...forms];
