/**
 * What a node says of a file that it never takes. gRPC has one code for this and for being busy, so who is told it must
 * go by the words.
 */
export const fileTooLarge = (mostBytes: number): string => `A file may have ${mostBytes} bytes here`;

/** Ours, and what the libraries of gRPC say of a message, at either end. */
const neverTaken = /^A file may have \d+ bytes here|larger than (?:max|configured)/;

/** Returns whether a refusal is of bytes that stay too many, however often they are sent. */
export const isTooLarge = (reason: string): boolean => neverTaken.test(reason);
