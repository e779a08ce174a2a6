//! Cgroup files as nodes of every kind show them, each with the layers that must come out. Lines are fixtures of other
//! exporters, forms from bug reports, or built from the source of what writes them.

use super::*;

fn pod(uid: &str, container: &str) -> Layer {
    Layer::Pod { uid: uid.into(), container: Some(container.into()) }
}
fn slurm(job: &str, uid: Option<u32>) -> Vec<Layer> {
    vec![Layer::Slurm { job: job.into(), uid }]
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

/// What a row shows, a cgroup file, and its layers.
type Row = (&'static str, &'static str, Vec<Layer>);

fn check(rows: &[Row]) {
    for (shows, file, want) in rows {
        assert_eq!(&layers(file).0, want, "{shows}: {file}");
    }
}

#[test]
fn version_one() {
    check(&[
        (
            "docker, cgroupfs",
            "5:memory:/docker/b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f",
            vec![container("b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f")],
        ),
        (
            "burstable pod, cgroupfs",
            "4:blkio:/kubepods/burstable/pod6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e/17db96a24ae1e9dd57143e62b1cb0d2d35e693c65c774c7470e87b0572e07c1a",
            vec![pod(
                "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e",
                "17db96a24ae1e9dd57143e62b1cb0d2d35e693c65c774c7470e87b0572e07c1a",
            )],
        ),
        (
            "guaranteed pod has no level of service in its path",
            "6:memory:/kubepods/poda38c12e8-255a-11e9-8cd9-0007cb0b2cc8/32c562ed81a2622b37b80cb216859820ba51bd694f60ee4cf10d07a4011266f8",
            vec![pod(
                "a38c12e8-255a-11e9-8cd9-0007cb0b2cc8",
                "32c562ed81a2622b37b80cb216859820ba51bd694f60ee4cf10d07a4011266f8",
            )],
        ),
        (
            "static pod: its config's hash, and the d of pod isn't part of it",
            "6:memory:/kubepods/burstable/pod9729a196c4723b60ab401eaff722982d/d166c6190614efc91956b78e96d74c3fbc96ca8e91948c36de3bc5b0e7b27d48",
            vec![pod(
                "9729a196c4723b60ab401eaff722982d",
                "d166c6190614efc91956b78e96d74c3fbc96ca8e91948c36de3bc5b0e7b27d48",
            )],
        ),
        (
            "a cgroup of the container's own",
            "6:memory:/kubepods/besteffort/pod0d08203e-255a-11e9-8cd9-0007cb0b2cc8/671a50f5d60566556912f61511d0ec9e4d5c78d53fbc4676727180438bbbbc55/kube-proxy",
            vec![pod(
                "0d08203e-255a-11e9-8cd9-0007cb0b2cc8",
                "671a50f5d60566556912f61511d0ec9e4d5c78d53fbc4676727180438bbbbc55",
            )],
        ),
        (
            "cri-o, cgroupfs",
            "6:memory:/kubepods/poda48c12e8-255a-11e9-8cd9-0007cb0b2cc8/crio-63425c4a8b4291744a79dd9011fddc7a1f8ffda61f65d72196aa01d00cae2e2e",
            vec![pod(
                "a48c12e8-255a-11e9-8cd9-0007cb0b2cc8",
                "63425c4a8b4291744a79dd9011fddc7a1f8ffda61f65d72196aa01d00cae2e2e",
            )],
        ),
        (
            "cri-o, systemd",
            "1:name=systemd:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podd0511cd2_29d2_4215_be0f_f77bc0609d99.slice/crio-f93ee491b8ed2680d5a909eb098b14a9430173b57ca1c4efedd8768566d67e8e.scope",
            vec![pod(
                "d0511cd2-29d2-4215-be0f-f77bc0609d99",
                "f93ee491b8ed2680d5a909eb098b14a9430173b57ca1c4efedd8768566d67e8e",
            )],
        ),
        (
            "docker, systemd",
            "13:hugetlb:/system.slice/docker-2fa3e04b676df750842faf017052dd37ea0cc5bc7259a3487a1718c7fe100c94.scope",
            vec![container("2fa3e04b676df750842faf017052dd37ea0cc5bc7259a3487a1718c7fe100c94")],
        ),
        (
            "colons of containerd's in the path",
            "13:memory:/system.slice/containerd.service/kubepods-besteffort-pod0043435f_1854_4327_b76b_730f681a781d.slice:cri-containerd:01fd96f7ad292b02a8317cde4ecb8c7ef3cc06ffdd113f13410e0837eb2b2a20",
            vec![pod(
                "0043435f-1854-4327-b76b-730f681a781d",
                "01fd96f7ad292b02a8317cde4ecb8c7ef3cc06ffdd113f13410e0837eb2b2a20",
            )],
        ),
        (
            "a kubelet with a cgroup root",
            "11:blkio:/kubelet/kubepods/besteffort/podbdd4097d-6795-404e-9bd8-6a1383386198/c79788e0da15a6597263eb2b9c51d05dd1a9a1d08c53c1161dc8c45d2dac6b38",
            vec![pod(
                "bdd4097d-6795-404e-9bd8-6a1383386198",
                "c79788e0da15a6597263eb2b9c51d05dd1a9a1d08c53c1161dc8c45d2dac6b38",
            )],
        ),
        (
            "slurm, beside systemd's own line",
            "11:devices:/slurm/uid_1000/job_211/step_0/task_0\n1:name=systemd:/system.slice/slurmd.service",
            slurm("211", Some(1000)),
        ),
        (
            "one of several slurmd on a node",
            "8:freezer:/slurm_node7/uid_1000/job_211/step_batch",
            slurm("211", Some(1000)),
        ),
        (
            "a unit that only systemd's line has",
            "2:devices:/init.scope\n1:name=systemd:/system.slice/springboot.service\n3:memory:/",
            vec![unit("springboot.service")],
        ),
        (
            "a unit with escapes",
            r"2:devices:/system.slice/system-serial\x2dgetty.slice",
            vec![unit("system-serial-getty.slice")],
        ),
    ]);
}

#[test]
fn hybrid() {
    check(&[
        (
            "the pod of the many lines and not the unit of the last",
            "13:cpuset:/kubepods/burstable/pod8833712d-6e69-4f5c-95f3-aebd020ce2e7/95cbe853416f52d927dec41f1406dd75015ea131244a1ca875a7cd4ebe927ac8\n\
             12:memory:/kubepods/burstable/pod8833712d-6e69-4f5c-95f3-aebd020ce2e7/95cbe853416f52d927dec41f1406dd75015ea131244a1ca875a7cd4ebe927ac8\n\
             0::/reserved.slice/containerd.service",
            vec![pod(
                "8833712d-6e69-4f5c-95f3-aebd020ce2e7",
                "95cbe853416f52d927dec41f1406dd75015ea131244a1ca875a7cd4ebe927ac8",
            )],
        ),
        (
            "a line at the root says nothing",
            "1:name=systemd:/\n0::/system.slice/docker-cf87ba651579c9231db817909e7865e5747bd7abcac0c57ce23cf4abbaee046b.scope",
            vec![container("cf87ba651579c9231db817909e7865e5747bd7abcac0c57ce23cf4abbaee046b")],
        ),
    ]);
}

#[test]
fn version_two_in_kubernetes() {
    check(&[
        (
            "cri-dockerd",
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod8712f785_1a3e_41ec_a00b_e2dcc77431cb.slice/docker-73051af271105c07e1f493b34856a77e665e3b0b4fc72f76c807dfbffeb881bd.scope",
            vec![pod(
                "8712f785-1a3e-41ec-a00b-e2dcc77431cb",
                "73051af271105c07e1f493b34856a77e665e3b0b4fc72f76c807dfbffeb881bd",
            )],
        ),
        (
            "guaranteed pod of OpenShift",
            "0::/kubepods.slice/kubepods-pod7922aa99_d4aa_4885_a953_82976860b23a.slice/crio-1c33afbc9e5aa6c69150d1af05254b562a4b17c313fc6153e3625cf456922bfe.scope",
            vec![pod(
                "7922aa99-d4aa-4885-a953-82976860b23a",
                "1c33afbc9e5aa6c69150d1af05254b562a4b17c313fc6153e3625cf456922bfe",
            )],
        ),
        (
            "crun's child of the container",
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podea19ff5d_943a_4466_a07e_a71e9e50cc62.slice/crio-21572039dd8398ff8272b031fa5422a40165145ab37f2f8794e1e7f844fe8118.scope/container",
            vec![pod(
                "ea19ff5d-943a-4466-a07e-a71e9e50cc62",
                "21572039dd8398ff8272b031fa5422a40165145ab37f2f8794e1e7f844fe8118",
            )],
        ),
        (
            "static pod without .scope",
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod3e61c214bc3ed9ff81e21474dd6cba17.slice/cri-containerd-c74b0f5062f0bc726cae1e9369ad4a95deed6b298d247f0407475adb23fa3190",
            vec![pod(
                "3e61c214bc3ed9ff81e21474dd6cba17",
                "c74b0f5062f0bc726cae1e9369ad4a95deed6b298d247f0407475adb23fa3190",
            )],
        ),
        (
            "cgroupfs",
            "0::/kubepods/pod51b64565-2b17-4d46-83ac-22e398f2f7fb/65d752a38e1db784d521f48c3f1956f4f9a74ebb923377144f253f3aca9fa028",
            vec![pod(
                "51b64565-2b17-4d46-83ac-22e398f2f7fb",
                "65d752a38e1db784d521f48c3f1956f4f9a74ebb923377144f253f3aca9fa028",
            )],
        ),
        (
            "kind: the node's container, then the pod",
            "0::/system.slice/docker-fd9d0ea06257a9780827cbc7fd92e3812a54fca26d63e191b73610d5d48b9cbd.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-podeab5a334_93fe_48a8_b139_9e8079c1f163.slice/cri-containerd-99f3a16ea25b7724cb56a4f0c0df1113ad9474fbf5545bead97fd5c7f61c13f4.scope",
            vec![
                container("fd9d0ea06257a9780827cbc7fd92e3812a54fca26d63e191b73610d5d48b9cbd"),
                pod(
                    "eab5a334-93fe-48a8-b139-9e8079c1f163",
                    "99f3a16ea25b7724cb56a4f0c0df1113ad9474fbf5545bead97fd5c7f61c13f4",
                ),
            ],
        ),
        (
            "seen from inside kind",
            "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod3cae2e45_052c_4b11_80d3_4d7b2d2d3464.slice/cri-containerd-2b180104511194aab36fd295d3e217439f3ddb5bc88277f37b4952abee85c40e.scope",
            vec![pod(
                "3cae2e45-052c-4b11-80d3-4d7b2d2d3464",
                "2b180104511194aab36fd295d3e217439f3ddb5bc88277f37b4952abee85c40e",
            )],
        ),
        (
            "from a sibling's namespace, the pods' own slice cut off",
            "0::/../../../kubepods-burstable.slice/kubepods-burstable-pod2c9f8a79_5391_454b_88cb_86190881cb96.slice/crio-a09343ca97901516c25036e2b954421254f8c68b384b536064e8999f0c4ed18d.scope",
            vec![pod(
                "2c9f8a79-5391-454b-88cb-86190881cb96",
                "a09343ca97901516c25036e2b954421254f8c68b384b536064e8999f0c4ed18d",
            )],
        ),
        (
            "docker in a pod is the pod's",
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2942c55e_c9cb_428a_93f4_eaf89c1f3ce0.slice/cri-containerd-49f9e8e5395d57c1083996c09e2e6f042d5fe1ec0310facab32f94912b35ce59.scope/docker/63425c4a8b4291744a79dd9011fddc7a1f8ffda61f65d72196aa01d00cae2e2d",
            vec![pod(
                "2942c55e-c9cb-428a-93f4-eaf89c1f3ce0",
                "49f9e8e5395d57c1083996c09e2e6f042d5fe1ec0310facab32f94912b35ce59",
            )],
        ),
    ]);
}

#[test]
fn version_two_on_plain_hosts() {
    const ID: &str = "3f05ee050f82c0145f1d88c94269c39dff0f07dbf8bba20aafd54b3a75dcaecc";
    check(&[
        (
            "from the collector's own cgroup namespace",
            "0::/../../../../system.slice/docker-ba7b10d15d16e10e3de7a2dcd408a3d971169ae303f46cfad4c5453c6326fee2.scope",
            vec![container("ba7b10d15d16e10e3de7a2dcd408a3d971169ae303f46cfad4c5453c6326fee2")],
        ),
        ("hidden by a namespace, or at the root", "0::/", vec![]),
        (
            "podman of root's",
            "0::/machine.slice/libpod-06dc5f321aad8726aa26559f16ec203bc099245bc44894b14a89fc02b022d1d5.scope/container",
            vec![container("06dc5f321aad8726aa26559f16ec203bc099245bc44894b14a89fc02b022d1d5")],
        ),
        (
            "rootless podman: container and user",
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-3f05ee050f82c0145f1d88c94269c39dff0f07dbf8bba20aafd54b3a75dcaecc.scope/container",
            vec![user(1000), container(ID)],
        ),
        (
            "quadlet: unit and container",
            "0::/system.slice/kepler.service/libpod-payload-8e363eb2287da4ccc9f52ffc5de11252ac5fe707e3ddb917a3c0bdf9bb64165b",
            vec![
                unit("kepler.service"),
                container("8e363eb2287da4ccc9f52ffc5de11252ac5fe707e3ddb917a3c0bdf9bb64165b"),
            ],
        ),
        (
            "rootless docker",
            "0::/user.slice/user-1001.slice/user@1001.service/user.slice/docker-4d2c8f0e6b1a97535c0f2e6d8a4b7c913e5f60718293a4b5c6d7e8f901234567.scope",
            vec![user(1001), container("4d2c8f0e6b1a97535c0f2e6d8a4b7c913e5f60718293a4b5c6d7e8f901234567")],
        ),
        (
            "systemd isn't at the root under WSL",
            "0::/wsl-user/distro-1/systemd/user.slice/user-1000.slice/session-1.scope",
            vec![user(1000)],
        ),
        (
            "a uuid in a scope is no container",
            "0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-6f1b8c1e-6a0b-4c5e-9a57-2f8f3f1e0d11.scope",
            vec![user(1000)],
        ),
        ("a login", "0::/user.slice/user-1000.slice/session-3.scope", vec![user(1000)]),
        ("a service", "0::/system.slice/python-app.service", vec![unit("python-app.service")]),
        (
            "a service of a user's",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/notebook.service",
            vec![user(1000), unit("notebook.service")],
        ),
        (
            "a service in LXC",
            "0::/lxc.payload.first/system.slice/systemd-logind.service",
            vec![Layer::Lxc { name: "first".into() }, unit("systemd-logind.service")],
        ),
        ("LXC's monitor is no workload", "0::/lxc.monitor.first", vec![]),
        (
            "LXC of Proxmox",
            "0::/lxc/101/ns/system.slice/cron.service",
            vec![Layer::Lxc { name: "101".into() }, unit("cron.service")],
        ),
        ("Talos: its runtime", "0::/podruntime/runtime", vec![]),
        ("Talos: its init", "0::/init", vec![]),
        ("Talos: its dashboard", "0::/system/dashboard", vec![]),
        (
            "a zombie whose cgroup is gone",
            "0::/system.slice/docker-2fa3e04b676df750842faf017052dd37ea0cc5bc7259a3487a1718c7fe100c94.scope (deleted)",
            vec![container("2fa3e04b676df750842faf017052dd37ea0cc5bc7259a3487a1718c7fe100c94")],
        ),
        (
            "libvirt's machine",
            r"0::/machine.slice/machine-qemu\x2d2\x2dinstance\x2d00000001.scope/libvirt/emulator",
            vec![Layer::Machine { name: "instance-00000001".into() }],
        ),
        (
            "rootless podman that left its job's cgroup",
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-3f05ee050f82c0145f1d88c94269c39dff0f07dbf8bba20aafd54b3a75dcaecc.scope/container",
            vec![user(1000), container(ID)],
        ),
    ]);
}

#[test]
fn slurm_of_version_two() {
    check(&[
        ("a task", "0::/system.slice/slurmstepd.scope/job_211/step_0/user/task_0", slurm("211", None)),
        (
            "the batch step",
            "0::/system.slice/slurmstepd.scope/job_211/step_batch/user/task_0",
            slurm("211", None),
        ),
        (
            "ssh that was adopted into the job",
            "0::/system.slice/slurmstepd.scope/job_211/step_extern/user/task_special",
            slurm("211", None),
        ),
        (
            "salloc's shell",
            "0::/system.slice/slurmstepd.scope/job_211/step_interactive/user/task_0",
            slurm("211", None),
        ),
        ("the step's own daemon", "0::/system.slice/slurmstepd.scope/job_211/step_batch/slurm", vec![]),
        (
            "one of several slurmd on a node",
            "0::/system.slice/node7_slurmstepd.scope/job_211/step_0/user/task_0",
            slurm("211", None),
        ),
        (
            "the id that paths have since 26.05",
            "0::/system.slice/slurmstepd.scope/s8FXKTA79XAR00/step_batch/user/task_0",
            slurm("s8FXKTA79XAR00", None),
        ),
        (
            "a slice that the site chose",
            "0::/slurm.slice/slurmstepd.scope/job_99/step_3/user/task_12",
            slurm("99", None),
        ),
    ]);
}

#[test]
fn helpers_beside_a_workload_are_not_it() {
    const PATHS: [&str; 7] = [
        "0::/machine.slice/libpod-conmon-06dc5f321aad8726aa26559f16ec203bc099245bc44894b14a89fc02b022d1d5.scope",
        "0::/kubepods.slice/crio-conmon-1c33afbc9e5aa6c69150d1af05254b562a4b17c313fc6153e3625cf456922bfe.scope",
        "0::/system.slice/kubelet.service",
        "0::/system.slice/containerd.service",
        "0::/system.slice/docker.service",
        "0::/system.slice/slurmd.service",
        "0::/system.slice/slurmstepd.scope/system",
    ];
    for path in PATHS {
        assert_eq!(layers(path), (vec![], ""), "{path}");
    }
}

#[test]
fn a_user_cannot_pass_for_a_scheduler_by_the_names_of_its_own_cgroups() {
    let own = "0::/user.slice/user-1000.slice/user@1000.service";
    for forged in [
        "slurmstepd.scope/job_211/step_0/user/task_0",
        "kubepods.slice/kubepods-pod7922aa99_d4aa_4885_a953_82976860b23a.slice",
        r"machine-qemu\x2d2\x2dinstance\x2d00000001.scope",
    ] {
        let path = format!("{own}/{forged}");
        assert_eq!(layers(&path).0, [user(1000)], "{path}");
    }
}

#[test]
fn the_line_that_was_taken_is_the_evidence() {
    let file = "11:devices:/slurm/uid_1000/job_7/step_0\n1:name=systemd:/system.slice/slurmd.service\n";
    assert_eq!(layers(file).1, "11:devices:/slurm/uid_1000/job_7/step_0");
}
