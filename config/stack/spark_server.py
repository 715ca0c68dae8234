"""Run Spark Connect as the only process of a container: `python -m config.stack.spark_server`.

Reads WEIR_SPARK_MASTER, WEIR_SPARK_MEMORY, WEIR_SPARK_PORT and WEIR_SPARK_HOME (its scratch
directory). It listens on every address and asks nobody who they are: a token would need TLS in
front. Keep it on a network that only the web server and the worker reach.
"""

import os
import sys
from pathlib import Path

from config.stack.errors import PartError
from config.stack.parts import spark


def main() -> int:
    home = Path(os.environ.get("WEIR_SPARK_HOME", "/tmp/spark"))
    try:
        values = spark.settings(
            home,
            master=os.environ.get("WEIR_SPARK_MASTER", "local[*,4]"),
            bind="0.0.0.0",
            port=int(os.environ.get("WEIR_SPARK_PORT", "15002")),
        )
        program = spark.java(os.environ.get("WEIR_JAVA"))
        spark.write_files(home, values)
        memory = os.environ.get("WEIR_SPARK_MEMORY", spark.DEFAULT_MEMORY)
        arguments = spark.command_line(home, program, memory)
        os.environ["SPARK_HOME"] = str(spark.spark_home())
    except PartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.chdir(home)
    return os.execv(arguments[0], arguments)


if __name__ == "__main__":
    sys.exit(main())
