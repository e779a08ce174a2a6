//! A vGPU host: its virtual machines, through NVML and in the truth.

use nvidia_ml::scenario::{Gpu, Mode, Scenario, Seconds, Vm};
use nvidia_ml::truth::truth;
use nvml_wrapper::enum_wrappers::device::GpuVirtualizationMode;
use nvml_wrapper::enum_wrappers::vgpu::VmId;

use crate::node::{Node, START_US, at_us};

fn vm(id: &str, start: i64, busy: f64) -> Vm {
    Vm {
        vm_id: id.to_owned(),
        vgpu_type: "NVIDIA L40S-12Q".to_owned(),
        start: Seconds::new(start),
        end: None,
        busy: busy.into(),
        memory_mib: 8192.0.into(),
        guest_process: "python3".to_owned(),
    }
}

#[test]
fn a_host_lists_its_virtual_machines() {
    let mut scenario = Scenario::new("n");
    scenario.gpus.push(Gpu {
        mode: Mode::Vgpu,
        vms: vec![vm("a", 0, 30.0), vm("b", 10, 50.0)],
        ..Gpu::new("l40s")
    });
    scenario.gpus.push(Gpu::new("l40s"));
    let node = Node::new(scenario);
    let gpu = node.gpu(0);
    assert_eq!(gpu.virtualization_mode().unwrap(), GpuVirtualizationMode::HostVgpu);
    assert_eq!(node.gpu(1).virtualization_mode().unwrap(), GpuVirtualizationMode::Bare);
    assert_eq!(gpu.active_vgpus().unwrap().len(), 1);
    node.at(20.0);
    let vgpus = gpu.active_vgpus().unwrap();
    let ids: Vec<VmId> = vgpus.iter().map(|vgpu| vgpu.vm_id().unwrap()).collect();
    assert_eq!(ids, ["a", "b"].map(|id| VmId::Domain(id.to_owned())));
    assert_eq!(vgpus[1].fb_usage().unwrap(), 8192 * 1024 * 1024);
    assert_eq!(gpu.utilization_rates().unwrap().gpu, 80);
    let vms = truth(&node.scenario, START_US, at_us(20.0)).vms;
    assert_eq!((vms[0].busy_us, vms[1].busy_us, vms[1].resident_us), (6_000_000, 5_000_000, 10_000_000));
    assert_eq!(vgpus[1].uuid().unwrap(), vms[1].uuid);
}
