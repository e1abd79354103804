"use strict";
// A program that counts a signal (argument 1, such as SIGINT) from "waiting" until half a second after the first one, and says
// how often it came, with its parent's process id first. A shell would not do: for it two at once are one.

let times = 0;
process.on(process.argv[2], () => {
  times += 1;
  if (times > 1) return;
  setTimeout(() => {
    process.stdout.write(`came ${times} times\n`);
    process.exit(0);
  }, 500);
});
const parent = process.ppid;
// Nothing stays behind a test that failed.
setInterval(() => process.ppid === parent || process.exit(1), 1000);
process.stdout.write(`waiting in ${parent}\n`);
