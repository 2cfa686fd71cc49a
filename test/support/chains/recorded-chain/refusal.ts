/** An error answer of the chain's REST. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  /** The height that its header names: that of the head, another one, or none where no handler gave the answer. */
  readonly height: 'head' | 'none' | number;
  constructor(status: number, code: number, message: string, height: 'head' | 'none' | number = 'head') {
    super(message);
    this.status = status;
    this.code = code;
    this.height = height;
  }
}

/** What the gateway says of routes it does not have, and this server of what was not recorded. */
export const notImplemented = (): Refusal => new Refusal(501, 12, 'Not Implemented', 'none');

/** What the gateway says of a parameter it cannot read. */
export const badParameter = (message: string): Refusal => new Refusal(400, 3, message, 'none');
