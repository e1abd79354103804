/** The suite is the short form of what `npm run torture` does whole: there every step of every command is one to be killed at. */
const isWhole = process.env["TORTURE"] === "whole";

/** Of the steps of a command whose every step the campaign takes, the suite takes each ninth. */
export const stride = isWhole ? 1 : 9;

/** Of a list of cases that are much alike, the suite takes each ninth, the first one among them. */
export const some = <T>(cases: readonly T[]): T[] => cases.filter((_, index) => index % stride === 0);
