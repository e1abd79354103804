import type { HolderBounds, Holders } from "./state.ts";
import type { Command, Document } from "../state.ts";

const get: Command = { name: "get", do: "get" };
const ack: Command = { name: "ack", do: "ack" };
const out: Command = { name: "get --credentials-out", do: "get", out: true };
const noAck: Command = { name: "get --no-ack", do: "get", noAck: true };
const remove: Command = { name: "delete", do: "get", deletes: true };

const document = (exchange: number, old: number, next: number): Document => ({
  exchange,
  operation: "get",
  old,
  new: next,
  unread: false,
});

/** The vault has moved on since: of three exchanges only documents are left, and credentials of another vault lie among them. */
function oldDocuments({ service, acked, machines, papers }: Holders): void {
  service.pair = 6;
  acked.push(4, 5, 6);
  for (const { store } of machines) store.generations = [];
  papers.push(document(2, 4, 5), document(3, 5, 6), { pair: 2 });
}

/** What was given to it at first is not what the service accepts, which is somewhere else. */
function wrongFile({ papers, file }: Holders): void {
  papers.push({ pair: 1 });
  if (file !== null) file.paper = { pair: 2 };
}

type Scene = Omit<HolderBounds, "repeat">;

const scenes: Scene[] = [
  {
    name: "documents and exports between two states",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, out],
    events: ["import", "export"],
    papers: 3,
    alone: false,
  },
  {
    name: "held exchanges that another state takes over",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, noAck, ack],
    events: ["import", "export"],
    papers: 2,
    alone: false,
  },
  {
    name: "copies, backups and restores",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, ack],
    events: ["copy", "backup", "restore"],
    papers: 0,
    alone: false,
  },
  {
    name: "a colleague, and states that forget",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, out],
    events: ["import", "export", "colleague", "forget"],
    papers: 3,
    alone: false,
  },
  {
    name: "one state that sends",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 1,
    commands: [get, out, noAck, ack, remove],
    events: ["import", "export", "backup", "restore", "colleague"],
    papers: 3,
    alone: true,
  },
  {
    name: "documents of any age",
    left: { runs: 4, faults: 2, events: 4 },
    machines: 1,
    commands: [get, noAck, ack],
    events: ["import", "forget"],
    papers: 3,
    alone: true,
    first: oldDocuments,
  },
  {
    name: "wrong credentials",
    left: { runs: 4, faults: 2, events: 3 },
    machines: 1,
    commands: [get, out],
    events: ["import", "export", "forget"],
    papers: 3,
    alone: true,
    first: ({ papers }) => void papers.push({ pair: 2 }, document(2, 3, 4)),
  },
  {
    name: "a container with a file",
    left: { runs: 8, faults: 6, events: 0 },
    machines: 2,
    commands: [out],
    events: [],
    papers: 0,
    alone: true,
    idle: 1,
    container: true,
  },
  {
    name: "a container with a wrong file",
    left: { runs: 6, faults: 5, events: 0 },
    machines: 2,
    commands: [out],
    events: [],
    papers: 1,
    alone: true,
    idle: 1,
    container: true,
    first: wrongFile,
  },
];

const repeats = { success: "SUCCESS", token: "ERROR", "no-answer": "5xx" } as const;

/** Each explored to the end, with each answer that a service may give to the repetition of an end call. */
export const holderBounds: HolderBounds[] = scenes.flatMap((scene) =>
  (["success", "token", "no-answer"] as const).map((repeat) => ({
    ...scene,
    name: `${scene.name}; a repeated end call: ${repeats[repeat]}`,
    repeat,
  })),
);
