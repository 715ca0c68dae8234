"""Compile the kernels that nobody waited for: `python -m config.stack.kernels STATE_DIR`.

`make up` compiles what the demo computes first and starts this process at its end. It gives way to
everything else, and `make down` ends it. Whoever computes before it has ended compiles what they
need themselves.
"""

import os
import subprocess
import sys

from config.stack import code, proc
from config.stack.site import ROOT, TAG_PART, TAG_STACK, Site, read_json, write_json

NAME = "kernels"
NICEST = 19


def compile_behind(site: Site) -> None:
    """Start compiling, with a log of its own, unless that was done for this code or goes on."""
    if read_json(site.data_dir / "kernels.json").get("code") == code.fingerprint():
        return
    if proc.tagged([site.tag, f"{TAG_PART}={NAME}"]):
        return
    with site.log_file(NAME).open("w", encoding="utf-8") as stream:
        subprocess.Popen(
            [sys.executable, "-m", "config.stack.kernels", str(site.state_dir)],
            cwd=ROOT,
            env={**os.environ, TAG_STACK: site.id, TAG_PART: NAME},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def main() -> None:
    """Compile, then write down for which code that was done."""
    site = Site.open(sys.argv[1])
    compiled_for = code.fingerprint()
    os.nice(NICEST)
    subprocess.run([sys.executable, "-m", "weir.warm_up"], cwd=ROOT, check=True)
    write_json(site.data_dir / "kernels.json", {"code": compiled_for})


if __name__ == "__main__":
    main()
