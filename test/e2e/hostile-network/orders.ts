import type { RealNode } from '../../../src/edges/local-network/cast.ts';

/** How a node that turned hostile answers clients and peers. */
export type Manner = 'lie' | 'stall' | 'rot';

/** What the process of the hostile side is to do; each order is answered once it is carried out. */
export type Order =
  | Readonly<{ do: 'turn'; node: RealNode; manner: Manner }>
  | Readonly<{ do: 'besiege'; gatewayPort: number; honest: readonly string[]; known: string; seed: string }>
  | Readonly<{ do: 'attack'; honest: readonly RealNode[]; actionId: string; size: number }>
  | Readonly<{ do: 'vanish'; manner: Manner }>;

export type NumberedOrder = Readonly<{ number: number; order: Order }>;
export type Reply = Readonly<{ number: number; failure?: string }>;
