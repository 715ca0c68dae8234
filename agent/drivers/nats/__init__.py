"""Drive NATS brokers; only this package knows the product.

| file | what it knows |
|---|---|
| `names` | subjects and streams of flows, classes and neighbours |
| `server_config` | the configuration of a server that runs beside an agent |
| `admission` | who may connect: the server's auth callout, evictions |
| `tokens`, `permissions` | signed answers to the auth callout; what each kind of user may do |
| `system_account` | the server's connections, load and events; closing a connection |
| `driver` | the driver that the agent uses |
| `wire`, `connection`, `session` | the protocol; one connection; one connection after the other |
| `jetstream`, `streams` | requests about streams; which streams there are and how messages read |
| `stream_writer`, `stream_reader`, `settler` | append once and in order; read; acknowledge |
| `core_reader`, `link` | best-effort messages until they are read; our end of a link |
| `probe` | what broker answers under an address |
"""
