// Makes the clock of a process go ahead by CLOCK_AHEAD_MS milliseconds.
const { now } = Date;
Date.now = () => now() + Number(process.env.CLOCK_AHEAD_MS);
