"use strict";
// A program that counts a signal (argument 1, such as SIGINT) from "waiting" until half a second after the first one, and says
// how often it came. A shell would not do: for it two at once are one.

let times = 0;
process.on(process.argv[2], () => {
  times += 1;
  if (times > 1) return;
  setTimeout(() => {
    process.stdout.write(`came ${times} times\n`);
    process.exit(0);
  }, 500);
});
setInterval(() => undefined, 1000);
process.stdout.write("waiting\n");
