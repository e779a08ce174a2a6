//! The closed lists of words on the wire. A value newer than this build reads as `Unspecified`.

/// What started a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum OwnerKind {
    /// Newer than this build.
    Unspecified = 0,
    /// A Kubernetes pod.
    Kubernetes = 1,
    /// A Slurm job.
    Slurm = 2,
    /// A Docker or Podman container outside Kubernetes.
    Container = 3,
    /// A systemd service or scope.
    Systemd = 4,
    /// A user, known by uid only.
    User = 5,
    /// A virtual machine on a vGPU host.
    Vm = 6,
    /// A process whose owner couldn't be found; evidence says what was read.
    Unknown = 7,
}

/// How a device is divided among its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Sharing {
    /// Newer than this build.
    Unspecified = 0,
    /// One owner on the whole device.
    Whole = 1,
    /// Several owners take turns.
    TimeSliced = 2,
    /// Several clients of an MPS server.
    Mps = 3,
    /// A MIG instance with one owner.
    Mig = 4,
    /// A MIG instance with several owners.
    MigShared = 5,
    /// Virtual GPUs of a hypervisor.
    Vgpu = 6,
}

/// What "busy" means in a row: two kinds are never summed or ranked together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BusyKind {
    /// Busy isn't known.
    Unspecified = 0,
    /// Time in which at least one kernel was resident (NVML utilisation).
    KernelResident = 1,
    /// Share of streaming multiprocessors that were active (GPM, or DCGM's profiling).
    SmActive = 2,
    /// Share of time in which the graphics or compute engine was active (DCGM's profiling).
    EngineActive = 3,
}

/// How far a figure can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Quality {
    /// Newer than this build.
    Unspecified = 0,
    /// Read from the device for this owner alone.
    Measured = 1,
    /// Known from what was allocated, not from use.
    Allocated = 2,
    /// Divided by a stated rule where the device can't tell owners apart.
    Estimated = 3,
    /// Read from a DCGM exporter on the node, where NVML doesn't say.
    MeasuredByDcgm = 4,
}

/// Why a value is unknown, or time unobserved or unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Reason {
    /// Nothing to explain: the value is known.
    Unspecified = 0,
    /// NVML has no utilisation of a MIG instance before Hopper.
    MigPreHopper = 1,
    /// The device or driver doesn't offer the figure.
    NotSupported = 2,
    /// An NVML call failed.
    NvmlError = 3,
    /// The device is lost or needs a reset.
    GpuLost = 4,
    /// A call ran past its deadline; the device is quarantined.
    CallHung = 5,
    /// NVML was let go of on request.
    Released = 6,
    /// The collector wasn't running.
    CollectorStopped = 7,
    /// The wall clock was stepped.
    ClockStep = 8,
    /// MIG was being reconfigured.
    Reconfiguring = 9,
    /// The driver is missing, reloading or doesn't fit its library.
    DriverUnavailable = 10,
    /// Two samples are needed and only one was there.
    FirstSample = 11,
    /// The driver's process structure can't be trusted (535.43 to 535.86).
    ProcessListUnsafe = 12,
    /// NVML refused for lack of permission.
    NoPermission = 13,
    /// An operator took the node out of use: drained, cordoned, in maintenance.
    Maintenance = 14,
    /// The scheduler holds the node to have failed.
    NodeFailed = 15,
}
