//! Lines as they were seen on real nodes, each with the layers that must come out.

use super::*;

const HEX: &str = "b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f";

fn pod(uid: &str, container: Option<&str>) -> Layer {
    Layer::Pod { uid: uid.into(), container: container.map(Into::into) }
}
fn slurm(job: &str, uid: Option<u32>) -> Layer {
    Layer::Slurm { job: job.into(), uid }
}
fn container(id: &str) -> Layer {
    Layer::Container { id: id.into() }
}
fn unit(name: &str) -> Layer {
    Layer::Unit { name: name.into() }
}
fn user(uid: u32) -> Layer {
    Layer::User { uid }
}

fn check(cases: &[(&str, Vec<Layer>)]) {
    for (line, want) in cases {
        let line = line.replace("{hex}", HEX);
        assert_eq!(&layers(&line).0, want, "{line}");
    }
}

#[test]
fn kubernetes_pods_in_every_driver_and_runtime() {
    let dashed = "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e";
    let whole = |uid: &str| vec![pod(uid, Some(HEX))];
    check(&[
        ("4:blkio:/kubepods/burstable/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/{hex}", whole(dashed)),
        ("6:memory:/kubepods/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/{hex}", whole(dashed)),
        (
            "6:memory:/kubepods/burstable/pod9729a196c4723b60ab401eaff722982d/{hex}",
            whole("9729a196c4723b60ab401eaff722982d"),
        ),
        (
            "6:memory:/kubepods/besteffort/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/{hex}/kube-proxy",
            whole(dashed),
        ),
        ("6:memory:/kubepods/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/crio-{hex}", whole(dashed)),
        (
            "11:blkio:/kubelet/kubepods/besteffort/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/{hex}",
            whole(dashed),
        ),
        ("0::/kubepods/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/{hex}", whole(dashed)),
        (
            "1:name=systemd:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/crio-{hex}.scope",
            whole(dashed),
        ),
        (
            "0::/kubepods.slice/kubepods-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/crio-{hex}.scope/container",
            whole(dashed),
        ),
        (
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3e61c214bc3ed9ff81e21474dd6cba17.slice/cri-containerd-{hex}",
            whole("3e61c214bc3ed9ff81e21474dd6cba17"),
        ),
        (
            "0::/../../../kubepods-burstable.slice/kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/crio-{hex}.scope",
            whole(dashed),
        ),
        (
            "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod6a4ce4a0_ba47_11ea_b2a7_0cc47ac5979e.slice/cri-containerd-{hex}.scope",
            whole(dashed),
        ),
    ]);
}

#[test]
fn colons_in_the_path_belong_to_it() {
    let line = "13:memory:/system.slice/containerd.service/kubepods-besteffort-pod0043435f_1854_4327_b76b_730f681a781d.slice:cri-containerd:{hex}";
    check(&[(line, vec![pod("0043435f-1854-4327-b76b-730f681a781d", Some(HEX))])]);
}

#[test]
fn nested_layers_form_a_chain() {
    let outer = "fd9d0ea06257a9780827cbc7fd92e3812a54fca26d63e191b73610d5d48b9cbd";
    check(&[
        (
            "0::/system.slice/docker-fd9d0ea06257a9780827cbc7fd92e3812a54fca26d63e191b73610d5d48b9cbd.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort-podeab5a334_93fe_48a8_b139_9e8079c1f163.slice/cri-containerd-{hex}.scope",
            vec![container(outer), pod("eab5a334-93fe-48a8-b139-9e8079c1f163", Some(HEX))],
        ),
        (
            "0::/kubepods.slice/kubepods-burstable-pod2942c55e_c9cb_428a_93f4_eaf89c1f3ce0.slice/cri-containerd-{hex}.scope/docker/fd9d0ea06257a9780827cbc7fd92e3812a54fca26d63e191b73610d5d48b9cbd",
            vec![pod("2942c55e-c9cb-428a-93f4-eaf89c1f3ce0", Some(HEX))],
        ),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{hex}.scope/container",
            vec![user(1000), container(HEX)],
        ),
        (
            "0::/system.slice/kepler.service/libpod-payload-{hex}",
            vec![unit("kepler.service"), container(HEX)],
        ),
    ]);
}

#[test]
fn slurm_jobs_steps_and_new_ids() {
    check(&[
        ("11:devices:/slurm/uid_1000/job_211/step_0/task_0", vec![slurm("211", Some(1000))]),
        ("8:freezer:/slurm_node7/uid_1000/job_211/step_batch", vec![slurm("211", Some(1000))]),
        ("0::/system.slice/slurmstepd.scope/job_211/step_0/user/task_0", vec![slurm("211", None)]),
        ("0::/system.slice/slurmstepd.scope/job_211/step_extern/user/task_special", vec![slurm("211", None)]),
        ("0::/system.slice/node7_slurmstepd.scope/job_211/step_0/user/task_0", vec![slurm("211", None)]),
        (
            "0::/system.slice/slurmstepd.scope/s8FXKTA79XAR00/step_batch/user/task_0",
            vec![slurm("s8FXKTA79XAR00", None)],
        ),
        ("0::/slurm.slice/slurmstepd.scope/job_99/step_3/user/task_12", vec![slurm("99", None)]),
    ]);
}

#[test]
fn containers_users_units_and_machines() {
    check(&[
        ("5:memory:/docker/{hex}", vec![container(HEX)]),
        ("13:hugetlb:/system.slice/docker-{hex}.scope", vec![container(HEX)]),
        ("0::/../../../../system.slice/docker-{hex}.scope", vec![container(HEX)]),
        ("0::/machine.slice/libpod-{hex}.scope/container", vec![container(HEX)]),
        ("0::/system.slice/docker-{hex}.scope (deleted)", vec![container(HEX)]),
        ("0::/machine.slice/libpod-conmon-{hex}.scope", vec![]),
        ("0::/wsl-user/distro-1/systemd/user.slice/user-1000.slice/session-1.scope", vec![user(1000)]),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-6f1b8c1e-6a0b-4c5e-9a57-2f8f3f1e0d11.scope",
            vec![user(1000)],
        ),
        ("0::/system.slice/python-app.service", vec![unit("python-app.service")]),
        (r"2:devices:/system.slice/system-serial\x2dgetty.slice", vec![unit("system-serial-getty.slice")]),
        ("0::/lxc.payload.first", vec![unit("lxc:first")]),
        (
            r"0::/machine.slice/machine-qemu\x2d2\x2dinstance\x2d00000001.scope/libvirt/emulator",
            vec![Layer::Machine { name: "instance-00000001".into() }],
        ),
        ("0::/", vec![]),
        ("0::/podruntime/runtime", vec![]),
        ("0::/init", vec![]),
    ]);
}

#[test]
fn the_most_telling_line_of_a_hybrid_file_counts() {
    let file = format!(
        "13:cpuset:/kubepods/burstable/pod8833712d-6e69-4f5c-95f3-aebd020ce2e7/{HEX}\n0::/reserved.slice/containerd.service\n"
    );
    assert_eq!(layers(&file).0, [pod("8833712d-6e69-4f5c-95f3-aebd020ce2e7", Some(HEX))]);
    let file = format!("1:name=systemd:/\n0::/system.slice/docker-{HEX}.scope\n");
    assert_eq!(layers(&file).0, [container(HEX)]);
    let file = "11:devices:/slurm/uid_1000/job_7/step_0\n1:name=systemd:/system.slice/slurmd.service\n";
    assert_eq!(layers(file), (vec![slurm("7", Some(1000))], "11:devices:/slurm/uid_1000/job_7/step_0"));
}
