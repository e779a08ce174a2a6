"""nvidia-ml-py against the simulated library, in virtual time."""

import ctypes
import os
import pathlib
import tempfile
import unittest

import pynvml

SCENARIOS = pathlib.Path(__file__).parent.parent / "scenarios"
START_US = 1_788_220_800_000_000


class Pynvml(unittest.TestCase):
    """One library for all: each test loads its own scenario and moves the clock."""

    def open(self, scenario, at_s):
        library = ctypes.CDLL("libnvidia-ml.so.1")
        text = (SCENARIOS / scenario).read_text()
        file = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write('start = "2026-09-01T00:00:00Z"\n' + text)
        library.fakeNvmlSetTimeUs(ctypes.c_int64(START_US + int(at_s * 1e6)))
        self.assertEqual(library.fakeNvmlLoadScenario(file.name.encode()), 0)
        pynvml.nvmlInit()
        self.addCleanup(pynvml.nvmlShutdown)
        return library

    def test_a_whole_gpu(self):
        self.open("plain-h100.toml", 60)
        self.assertEqual(pynvml.nvmlDeviceGetCount(), 8)
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.assertEqual(pynvml.nvmlDeviceGetName(gpu), "NVIDIA H100 80GB HBM3")
        memory = pynvml.nvmlDeviceGetMemoryInfo(gpu, version=pynvml.nvmlMemory_v2)
        self.assertEqual(memory.total, memory.used + memory.free + memory.reserved)
        self.assertEqual([process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)], [41001])
        self.assertIn(pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu, (91, 92))
        samples = pynvml.nvmlDeviceGetProcessUtilization(gpu, 0)
        self.assertEqual([sample.pid for sample in samples], [41001])
        with self.assertRaises(pynvml.NVMLError_NotFound):
            pynvml.nvmlDeviceGetProcessUtilization(pynvml.nvmlDeviceGetHandleByIndex(5), 0)
        with self.assertRaises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetFanSpeed(gpu)

    def test_energy_is_exact(self):
        library = self.open("plain-h100.toml", 0)
        gpu = pynvml.nvmlDeviceGetHandleByIndex(6)
        before = pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
        library.fakeNvmlSetTimeUs(ctypes.c_int64(START_US + 100_000_000))
        self.assertEqual(pynvml.nvmlDeviceGetTotalEnergyConsumption(gpu) - before, 100 * 69_850)

    def test_mig_devices_are_found_behind_an_empty_slot(self):
        self.open("mig-h100.toml", 60)
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        found = {}
        for slot in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
            try:
                mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, slot)
            except pynvml.NVMLError_NotFound:
                continue
            ids = pynvml.nvmlDeviceGetGpuInstanceId(mig), pynvml.nvmlDeviceGetComputeInstanceId(mig)
            found[slot] = ids
            self.assertTrue(pynvml.nvmlDeviceGetUUID(mig).startswith("MIG-"))
        self.assertEqual(found, {0: (2, 0), 1: (2, 1), 3: (3, 0), 4: (9, 0), 5: (10, 0)})
        with self.assertRaises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetUtilizationRates(gpu)

    def test_gpm_of_an_instance(self):
        library = self.open("mig-h100.toml", 0)
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.assertTrue(pynvml.nvmlGpmQueryDeviceSupport(gpu).isSupportedDevice)
        samples = [pynvml.nvmlGpmSampleAlloc() for _ in range(2)]
        pynvml.nvmlGpmMigSampleGet(gpu, 3, samples[0])
        library.fakeNvmlSetTimeUs(ctypes.c_int64(START_US + 1_200_000_000))
        pynvml.nvmlGpmMigSampleGet(gpu, 3, samples[1])
        request = pynvml.c_nvmlGpmMetricsGet_t()
        request.version, request.numMetrics = pynvml.NVML_GPM_METRICS_GET_VERSION, 1
        request.sample1, request.sample2 = samples
        request.metrics[0].metricId = pynvml.NVML_GPM_METRIC_SM_UTIL
        pynvml.nvmlGpmMetricsGet(request)
        self.assertAlmostEqual(request.metrics[0].value, (10 + 66.6) / 2, places=6)
        for sample in samples:
            pynvml.nvmlGpmSampleFree(sample)


if __name__ == "__main__":
    unittest.main()
