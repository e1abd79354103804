/**
 * The suite is the short form of what `npm run campaign` does whole: there every step of every command is one to be killed
 * at, and more sequences are generated.
 */
const isWhole = process.env["CAMPAIGN"] === "whole";

/** Of the steps of a command whose every step the campaign takes, the suite takes each third. */
export const stride = isWhole ? 1 : 3;

/** How many sequences a model is tried with. */
export const sequences = isWhole ? 400 : 60;
