/** @nats-io/transport-node 3.4.0 encodes headers field by field. */
import { headers, type MsgHdrs } from '@nats-io/transport-node';

/**
 * Headers of a message from their lines, each with its end: to put them together field by field takes the client longer
 * than all the rest of a message. Overrides how the client's headers are encoded.
 */
export function headersFrom(lines: string): MsgHdrs {
  return Object.assign(headers(), { encode: () => Buffer.from(`NATS/1.0\r\n${lines}\r\n`, 'latin1') });
}
