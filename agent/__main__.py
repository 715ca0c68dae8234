"""`python -m agent check URL`: does the agent's machine reach its broker, and what broker is it?"""

import argparse
import asyncio
import sys

import nats.errors

from agent.drivers.nats import probe


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when the broker answered, 1 when not, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="agent", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="connect to the broker and describe it")
    check.add_argument("url", help="nats://user:password@host:port")
    options = parser.parse_args(arguments)
    try:
        facts = asyncio.run(probe(options.url))
    except (OSError, nats.errors.Error, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        print(f"agent: the broker does not answer: {reason}", file=sys.stderr)
        return 1
    stream = "with JetStream" if facts.jetstream else "without JetStream"
    print(
        f"NATS {facts.version} {facts.name} {stream}, "
        f"messages up to {facts.max_payload_bytes} bytes, "
        f"round trip {facts.round_trip_s * 1000:.2f} ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
