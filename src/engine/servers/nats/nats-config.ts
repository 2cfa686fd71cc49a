import path from 'node:path';
import { hostPort } from '../../../kit/net-address.ts';

/** The settings of the embedded nats-server's configuration file. */
type NatsSettings = Readonly<{
  dir: string;
  host: string;
  port: number;
  wsPort: number;
  user: string;
  pass: string;
  ephemeral: boolean;
}>;

/** What outsiders may see: republished facts, nothing else. */
const LIVE = 'live.>';

/**
 * The configuration file: account CORE for ourselves, with JetStream; account PUBLIC for anyone who connects without
 * credentials, who may subscribe to `live.>` and publish nothing at all.
 *
 * The disk alone limits how much may be stored: else the server takes three quarters of the space free at its start as
 * the limit of all that it may ever hold, and refuses facts after a start on a disk that is nearly full. A port of 0
 * lets the server pick a free one and report it in `ports_file_dir`.
 */
export function natsConfig({ dir, host, port, wsPort, user, pass, ephemeral }: NatsSettings): string {
  return `
server_name: annals
listen: ${quoted(hostPort(host, port || -1))}
http: "127.0.0.1:-1"
ports_file_dir: ${quoted(path.join(dir, 'ports'))}
max_payload: 8MB
max_connections: 2048
authorization { timeout: 10 }
websocket {
  listen: ${quoted(hostPort(host, wsPort || -1))}
  no_tls: true
}
jetstream {
  store_dir: ${quoted(path.join(dir, 'js'))}
  max_file_store: 64TB
  ${ephemeral ? '' : 'sync_interval: always'}
}
accounts {
  CORE {
    jetstream: enabled
    users: [ { user: ${quoted(user)}, password: ${quoted(pass)} } ]
    exports: [ { stream: ${quoted(LIVE)} } ]
  }
  PUBLIC {
    users: [ {
      user: outsider
      password: ""
      permissions: {
        subscribe: { allow: [ ${quoted(LIVE)} ] }
        publish: { deny: [ ">" ] }
      }
    } ]
    imports: [ { stream: { account: CORE, subject: ${quoted(LIVE)} } } ]
    limits: { max_connections: 1024, max_subscriptions: 65536, max_payload: 65536 }
  }
}
no_auth_user: outsider
`;
}

const quoted = (text: string) => JSON.stringify(text);
