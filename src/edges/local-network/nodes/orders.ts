import type pg from 'pg';
import type { ErrorCode } from '../../../kit/errors.ts';
import type { LogOptions } from '../../../kit/logger.ts';
import type { TracingOptions } from '../../../kit/tracing/settings.ts';
import type { BrokerAccess } from '../../../engine/log/broker.ts';
import type { FileBounds } from '../../node/cascade/cascade.ts';
import type { ObservedNode } from '../../node/observed.ts';
import type { NodePorts } from '../../node/start-node.ts';

/** One of the SuperNodes that a process hosts. */
export type NodePlan = Readonly<{
  host: string;
  ports: NodePorts;
  folder: string;
  /** Of its account, an eth_secp256k1 one. */
  keyFile: string;
}>;

/** What all nodes of a process share. */
export type HostPlan = Readonly<{
  chainUrl: string;
  profile: Readonly<{ restPrefix: string; addressPrefix: string }>;
  version: string;
  snapshotMs: number;
  secure: boolean;
  files: FileBounds;
  /**
   * The stores of the network: nodes report to its log what they hold and answer from its read models; else neither.
   */
  stores?: Readonly<{ nats: BrokerAccess; postgres: pg.ClientConfig; network: string }>;
  log: LogOptions;
  /** Nothing is recorded without. */
  tracing?: TracingOptions;
}>;

/** The parent's orders to the process that hosts nodes, one after the other; the first is `host`. */
export type Order =
  | Readonly<{ do: 'host'; plan: HostPlan }>
  | Readonly<{ do: 'start'; node: NodePlan }>
  | Readonly<{ do: 'stop'; host: string }>
  | Readonly<{ do: 'observe' }>;

/** An order on the channel, and the answer that carries its number. */
export type Numbered = Readonly<{ number: number; order: Order }>;
/** How an order went; `ports` are those that a start opened, `observed` all nodes that run. */
export type OrderReply = Readonly<{
  number: number;
  ports?: NodePorts;
  observed?: readonly ObservedNode[];
  failure?: Readonly<{ code: ErrorCode; message: string }>;
}>;
