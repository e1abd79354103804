"use strict";
// Required before the program on the pinned runtime. When the launcher is killed outright, nothing
// can be forwarded: this process must not go on unattended.

process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.channel.unref();
