"""What the recorder itself takes. Run alone: its tables grow with the processes of other tests, and may."""

import signal
import subprocess
import time
from pathlib import Path

from thinktime.log import Log

STATIC = Path(__file__).parents[2] / "target" / "static" / "thinktime-recorder"
PATIENCE_S = 60


def test_memory_stays_constant(tmp_path):
    """Resident memory after 60 samples is what it was after 10, but for the journal's buffers."""
    log = tmp_path / "run"
    command = [STATIC, "record", "-o", log, "--interval", "0.1s", "--by", "session"]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def resident_kib(samples):
        """Resident memory once there are so many samples."""
        deadline = time.monotonic() + PATIENCE_S
        while not (log / "manifest.json").is_file() or Log.open(log).samples().collect().height < samples:
            assert recorder.poll() is None, recorder.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        status = Path(f"/proc/{recorder.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    try:
        early, late = resident_kib(10), resident_kib(60)
        recorder.send_signal(signal.SIGTERM)
        _, errors = recorder.communicate(timeout=PATIENCE_S)
        assert recorder.returncode == 0, errors
    finally:
        recorder.kill()
        recorder.communicate()
    assert late - early < 512, (early, late)
