"""Drive NATS brokers; only this package knows the product.

| file | what it knows |
|---|---|
| `names` | subjects and streams of flows, classes and neighbours |
| `server_config` | the configuration of a server that runs beside an agent |
| `admission` | who may connect: the server's auth callout, evictions |
| `login`, `tokens` | the answer to one login, with its rights; signed tokens of the auth callout |
| `own_server`, `fence` | the right to act at our own server; which agent has it |
| `system_account` | the server's connections, load and events; closing a connection |
| `driver` | the driver that the agent uses |
| `wire`, `connection`, `session` | the protocol; one connection; one connection after the other |
| `jetstream`, `streams` | requests about streams; which streams there are and how messages read |
| `stream_writer`, `stream_reader` | append once and in order; read and acknowledge |
| `core` | best-effort messages: read and written |
| `link`, `link_access` | our end of a link; who may open one, and the keys that prove it |
| `neighbours` | interest and questions of neighbours |
| `carry_over`, `set_aside` | messages for a broker that is gone; messages that cannot be carried |
| `stats` | messages lost and delivered, and the server's load |
"""
