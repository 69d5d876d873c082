//! How much memory there is for this process, and how much of it is free.

use std::fs;
use std::path::Path;

/// What is assumed to be free where the system does not tell.
const UNKNOWN: usize = 4 << 30;

/// Returns the bytes that are free for this process: in the system, in its groups (cgroups) and
/// within its own limits.
pub(crate) fn free() -> usize {
    [free_in_system(), tightest(free_in_group), free_in_limits()]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(UNKNOWN)
}

/// Returns the bytes that this process could ever have, swap included; `usize::MAX` where the system
/// does not tell. The system may promise more than that, and end the process when it is used.
pub(crate) fn capacity() -> usize {
    let Ok(text) = fs::read_to_string("/proc/meminfo") else {
        return usize::MAX;
    };
    let total = kilobytes(&text, "MemTotal:").unwrap_or(usize::MAX);
    let swap = kilobytes(&text, "SwapTotal:").unwrap_or(0);
    let group = tightest(|group, limit, _| number_in(group, limit));
    total.min(group.unwrap_or(usize::MAX)).saturating_add(swap)
}

fn free_in_system() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&text, "MemAvailable:")
}

fn free_in_group(group: &Path, limit: &str, used: &str) -> Option<usize> {
    Some(number_in(group, limit)?.saturating_sub(number_in(group, used)?))
}

/// Returns the smallest of what is found in the group of this process and those around it, in files
/// with a limit and with what is used (version 2, then 1).
fn tightest(find: impl Fn(&Path, &str, &str) -> Option<usize>) -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    let v2 = groups.lines().filter_map(|line| line.strip_prefix("0::"));
    let v2 = v2.filter_map(|group| {
        let group = root.join(group.trim_start_matches('/'));
        let around = group.ancestors().take_while(|path| path.starts_with(root));
        around
            .filter_map(|path| find(path, "memory.max", "memory.current"))
            .min()
    });
    let (limit, used) = ("memory.limit_in_bytes", "memory.usage_in_bytes");
    let v1 = find(&root.join("memory"), limit, used);
    v2.chain(v1).min()
}

/// What the limits of the process (`ulimit -v`, `ulimit -d`) leave.
fn free_in_limits() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let left = |(limit, used): (&str, &str)| -> Option<usize> {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let limit: usize = line.split_whitespace().next()?.parse().ok()?; // or "unlimited"
        Some(limit.saturating_sub(kilobytes(&status, used)?))
    };
    [
        ("Max address space", "VmSize:"),
        ("Max data size", "VmData:"),
    ]
    .into_iter()
    .filter_map(left)
    .min()
}

fn number_in(group: &Path, name: &str) -> Option<usize> {
    let text = fs::read_to_string(group.join(name)).ok()?;
    text.trim().parse().ok() // or "max"
}

/// Returns the bytes behind a name in a file like /proc/meminfo.
fn kilobytes(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: usize = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_name() {
        let text = "MemTotal:       24 kB\nMemAvailable:    8 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(8 << 10));
        assert_eq!(kilobytes(text, "SwapTotal:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn some_memory_is_free_but_not_more_than_there_is() {
        assert!(free() > 0);
        assert!(free() <= capacity());
    }
}
