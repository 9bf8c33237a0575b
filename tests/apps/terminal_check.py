"""Under a terminal a long run shows how far it is, and takes that line away before it prints a result."""

import os
import pty
import subprocess
import sys

from run_program import environment, expect, run

ERASE = "\r\033[K"
WORDS = [f"{sys.argv[1]}/all_reduce_perf", "-b", "64M", "-e", "64M", "-n", "300", "-c", "0"]

terminal, other_end = pty.openpty()
with subprocess.Popen(WORDS, env=environment(), stdin=subprocess.DEVNULL, stdout=other_end, stderr=other_end) as process:
    os.close(other_end)
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
text = shown.decode()
expect(process.returncode == 0, text)
expect(f"{ERASE}64M: iteration " in text, f"no progress in {text!r}")
expect(text.count("64M: iteration") > 1, "progress is updated")
(line,) = [line for line in text.split("\n") if line.split(ERASE)[-1].strip().startswith("67108864")]
expect(line.split(ERASE)[-1].rstrip("\r").endswith("N/A"), f"the result stands alone on its line: {line!r}")

out, err = run([*WORDS[:-4], "-n", "2", "-c", "0"])
expect(err == "" and "\033" not in out, f"no terminal, no progress: {err!r}")
