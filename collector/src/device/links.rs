//! What a device has moved over PCIe and NVLink: byte counters that NVML keeps, asked in one call. The throughput call
//! isn't used: it watches the link for 20 ms with the driver's lock held.

use super::call::{Calls, Code, nvml};
use crate::reading::LinkBytes;
use nvml_wrapper_sys::bindings::field_id::{
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
    NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t};

/// Field, scope and bytes in a unit. NVLink's are in KiB, and this scope is the sum over all links.
const FIELDS: [(u32, u32, u64); 4] = [
    (NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0, 1),
    (NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0, 1),
    (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, u32::MAX, 1024),
    (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, u32::MAX, 1024),
];

/// `NVML_VALUE_TYPE_UNSIGNED_INT` and `NVML_VALUE_TYPE_UNSIGNED_LONG_LONG`.
const UNSIGNED_INT: u32 = 1;
const UNSIGNED_LONG_LONG: u32 = 3;

/// The counters since the driver was loaded, each unknown where the device has no such link or doesn't count.
pub(super) fn read(calls: &Calls, device: nvmlDevice_t) -> Result<LinkBytes, Code> {
    let mut asked = FIELDS.map(|(field, scope, _)| {
        // SAFETY: the struct is integers and a union of numbers, for which all zeros is a value.
        let empty: nvmlFieldValue_t = unsafe { std::mem::zeroed() };
        nvmlFieldValue_t { fieldId: field, scopeId: scope, ..empty }
    });
    let count = i32::try_from(asked.len()).expect("four");
    nvml!(calls, nvmlDeviceGetFieldValues(device, count, asked.as_mut_ptr()))?;
    let mut values = asked.iter().zip(FIELDS).map(|(value, (_, _, unit))| bytes(value, unit));
    let mut next = || values.next().flatten();
    let known =
        LinkBytes { pcie_sent: next(), pcie_received: next(), nvlink_sent: next(), nvlink_received: next() };
    // Nothing of all this: the device needn't be asked again.
    if known == LinkBytes::default() { Err(Code::NOT_SUPPORTED) } else { Ok(known) }
}

fn bytes(value: &nvmlFieldValue_t, unit: u64) -> Option<u64> {
    if value.nvmlReturn != 0 {
        return None;
    }
    let counted = match value.valueType {
        // SAFETY: the tag says which member was written.
        UNSIGNED_INT => u64::from(unsafe { value.value.uiVal }),
        // SAFETY: the tag says which member was written.
        UNSIGNED_LONG_LONG => unsafe { value.value.ullVal },
        _ => return None,
    };
    counted.checked_mul(unit)
}
