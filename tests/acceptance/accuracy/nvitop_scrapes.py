"""nvitop-exporter's own code over the simulated library in virtual time: its samples as OpenMetrics lines.

    nvitop_scrapes.py HOSTNAME FIRST LAST STEP     (Unix seconds; one scrape at each instant from FIRST to before LAST)

The library is found as the real one is (LD_LIBRARY_PATH) and has its scenario from FAKE_NVML_SCENARIO. The exporter
asks the clock which utilisation samples are new, so the clock is the scenario's.
"""

import ctypes
import sys
import time

hostname, first, last, step = sys.argv[1], *map(float, sys.argv[2:5])
library = ctypes.CDLL("libnvidia-ml.so.1")
library.fakeNvmlSetTimeUs.argtypes = [ctypes.c_int64]
now = first
time.time_ns = lambda: int(now * 1e9)
library.fakeNvmlSetTimeUs(int(now * 1e6))

from nvitop import Device  # noqa: E402 (it asks the library as it is loaded)
from nvitop_exporter.exporter import PrometheusExporter  # noqa: E402
from prometheus_client import CollectorRegistry  # noqa: E402

devices = []
for device in Device.all():
    devices += [device, *device.mig_devices()]
registry = CollectorRegistry()
exporter = PrometheusExporter(devices, hostname=hostname, registry=registry)
wanted = ("process_gpu_memory_MiB", "process_gpu_sm_utilization_Percentage")
while now < last:
    library.fakeNvmlSetTimeUs(int(now * 1e6))
    for device in devices:
        exporter.update_device(device)
    for family in registry.collect():
        for sample in family.samples if family.name in wanted else ():
            labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            print(f"{sample.name}{{{labels}}} {sample.value} {now:.3f}")
    now += step
