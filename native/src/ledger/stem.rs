//! Facts in the names of interrupt handlers and NAPI threads.

/// Longest task name, in bytes. A longer one is cut.
const LONGEST_COMM: usize = 15;

/// Longest name of a network device, in bytes.
const LONGEST_DEVICE: usize = 15;

/// Devices that a handler may be named after: `eth0-rx-0` after eth0 or eth0-rx, but `eth01` not after eth0.
pub fn devices_of(handler: &str) -> impl Iterator<Item = &str> {
    let ends = (1..=LONGEST_DEVICE.min(handler.len())).filter_map(|end| handler.split_at_checked(end));
    ends.filter(|(_, rest)| !rest.starts_with(|c: char| c.is_ascii_alphanumeric())).map(|(device, _)| device)
}

/// The part of a handler's name that all lines of one device share, and no other device's.
///
/// ```text
///   virtio0-input.0, virtio0-config    virtio0           mlx5_comp3@pci:0000:03:00.0   pci:0000:03:00.0
///   eth0-TxRx-1, i40e-eth0-TxRx-1      eth0-TxRx, ...    nvme0q1, eth0, ahci           none
/// ```
pub fn stem(handler: &str) -> Option<&str> {
    if let Some((_, address)) = handler.split_once('@') {
        return Some(address).filter(|address| !address.is_empty());
    }
    let digit = |c: char| c.is_ascii_digit();
    if let Some(rest) = handler.strip_prefix("virtio") {
        let length = rest.find(|c: char| !digit(c))?;
        return (length > 0 && rest[length..].starts_with('-')).then(|| &handler[.."virtio".len() + length]);
    }
    // The number of the device's queue is at the end.
    let stem = handler.trim_end_matches(digit);
    let numbered = stem.len() < handler.len();
    stem.strip_suffix(['-', '.']).filter(|stem| numbered && stem.contains(digit))
}

/// The device in `napi/eth0-8193`; `None` if the name may be cut.
pub fn device_of_thread(comm: &str) -> Option<&str> {
    let (device, id) = comm.strip_prefix("napi/")?.rsplit_once('-')?;
    let whole = comm.len() < LONGEST_COMM && !id.is_empty() && id.bytes().all(|c| c.is_ascii_digit());
    Some(device).filter(|device| whole && !device.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_so_much() {
        for (handler, wanted) in [
            ("virtio0-input.0", Some("virtio0")),
            ("virtio0-config", Some("virtio0")),
            ("virtio0", None),
            ("mlx5_comp3@pci:0000:03:00.0", Some("pci:0000:03:00.0")),
            ("eth0-TxRx-1", Some("eth0-TxRx")),
            ("i40e-eth1-TxRx-12", Some("i40e-eth1-TxRx")),
            ("hns3-eth1", None),
            ("nvme0q1", None),
            ("eth0", None),
            ("ahci", None),
            ("", None),
        ] {
            assert_eq!(stem(handler), wanted, "{handler}");
        }
        assert_eq!(device_of_thread("napi/eth0-8193"), Some("eth0"));
        assert_eq!(device_of_thread("napi/a-b-7"), Some("a-b"));
        assert_eq!(device_of_thread("napi/wan-lan-8"), Some("wan-lan"));
        assert_eq!(device_of_thread("napi/wan-lan0-8"), None);
        assert_eq!(device_of_thread("napi/enp0s31f6-"), None);
        let devices = |handler| devices_of(handler).collect::<Vec<_>>();
        assert_eq!(devices("eth0-rx-0"), ["eth0", "eth0-rx", "eth0-rx-0"]);
        assert_eq!(devices("eth01:x"), ["eth01", "eth01:x"]);
        assert_eq!(devices("a-device-of-which-nobody-heard"), ["a", "a-device", "a-device-of"]);
        assert_eq!(devices("\u{e9}"), ["\u{e9}"]);
    }
}
