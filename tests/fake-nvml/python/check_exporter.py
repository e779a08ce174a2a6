"""nvitop-exporter, a process of its own, against the simulated library in real time; and the truth that is left."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

BUSY = "gpu_utilization_Percentage"
GPUS = {str(index) for index in range(8)}
SCENARIOS = pathlib.Path(__file__).parent.parent / "scenarios"


class Exporter(unittest.TestCase):
    def test_it_exports_what_the_scenario_says_and_the_truth_is_left_at_exit(self):
        with socket.socket() as free, tempfile.TemporaryDirectory() as scratch:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            truth = pathlib.Path(scratch) / "truth.json"
            environment = dict(
                os.environ,
                FAKE_NVML_SCENARIO=str(SCENARIOS / "plain-h100.toml"),
                FAKE_NVML_T0_US=str(int((time.time() - 900) * 1e6)),
                FAKE_NVML_TRUTH=str(truth),
            )
            command = [str(pathlib.Path(sys.executable).with_name("nvitop-exporter")), "--port", str(port)]
            exporter = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # A shell's background jobs ignore SIGINT, and so would this child.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            try:
                metrics = self.scrape(exporter, port)
            finally:
                exporter.send_signal(signal.SIGINT)
                exporter.communicate(timeout=30)
            busy = dict(self.values(metrics, BUSY))
            self.assertEqual(set(busy), GPUS)
            self.assertIn(busy["0"], (91.0, 92.0))
            self.assertEqual(busy["6"], 0.0)
            self.assertIn('pid="42002"', metrics)
            left = json.loads(truth.read_text())
            self.assertEqual(left["node"], "plain-1")
            self.assertGreater(left["gpus"][0]["energy_mj"], 0)

    def scrape(self, exporter, port):
        """Metrics, once they have every GPU: the exporter fills them in one after the other."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.assertIsNone(exporter.poll(), "the exporter runs")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    metrics = answer.read().decode()
                if GPUS <= set(dict(self.values(metrics, BUSY))) and 'pid="42002"' in metrics:
                    return metrics
            except OSError:
                pass
            time.sleep(0.2)
        self.fail("the exporter did not have every GPU after a minute")

    @staticmethod
    def values(metrics, name):
        """Index and value of each series of a metric."""
        for line in metrics.splitlines():
            found = re.match(name + r'\{.*index="(\d+)".*\} (\S+)$', line)
            if found:
                yield found[1], float(found[2])


if __name__ == "__main__":
    unittest.main()
