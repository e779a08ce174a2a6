//! Device handles: tagged numbers that say what they stand for and what must still hold for them to be valid.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

/// Marks a number as a handle of ours, so that one made up or freed elsewhere is refused.
const TAG: u64 = 0x5A;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// GPU index.
    pub gpu: usize,
    /// MIG layout's number and slot, of a MIG device.
    pub mig: Option<(usize, u32)>,
    /// How often the GPU had come back from a loss when the handle was taken.
    pub returns: usize,
}

/// Layout number and slot that stand for no MIG device.
const WHOLE: u64 = 0xffff;

impl Handle {
    /// As NVML gives it out.
    pub fn encode(self) -> nvmlDevice_t {
        let (layout, slot) = self.mig.map_or((WHOLE, 0), |(layout, slot)| (layout as u64, u64::from(slot)));
        let number = TAG << 56
            | (self.returns as u64 & 0xff) << 40
            | layout << 24
            | slot << 16
            | (self.gpu as u64) << 4
            | 8;
        number as usize as nvmlDevice_t
    }

    /// What a caller's handle stands for, if it is one.
    pub fn decode(device: nvmlDevice_t) -> Option<Self> {
        let number = device as usize as u64;
        if number >> 56 != TAG || number & 0xf != 8 {
            return None;
        }
        let layout = number >> 24 & 0xffff;
        Some(Self {
            gpu: (number >> 4 & 0xff) as usize,
            mig: (layout != WHOLE).then_some((layout as usize, (number >> 16 & 0xff) as u32)),
            returns: (number >> 40 & 0xff) as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Handle;

    #[test]
    fn a_handle_comes_back_as_what_it_stands_for() {
        for gpu in [0, 5, 63] {
            for mig in [None, Some((0, 0)), Some((3, 6))] {
                for returns in [0, 2] {
                    let handle = Handle { gpu, mig, returns };
                    assert_eq!(Handle::decode(handle.encode()), Some(handle));
                }
            }
        }
        assert_eq!(Handle::decode(std::ptr::null_mut()), None);
        assert_eq!(Handle::decode(0x1000 as _), None);
    }
}
