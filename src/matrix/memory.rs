//! How much memory a cache may take: a fair share of what is really free.

use std::fs;
use std::path::Path;

/// The share of the free memory a cache may take.
const SHARE: f64 = 0.5;
/// What is assumed to be free where the system does not tell.
const UNKNOWN: usize = 2 << 30;

/// Returns the bytes a cache may take: half of the memory that is free for this process, cgroup
/// limits included.
pub(crate) fn fair_share() -> usize {
    let free = [free_in_system(), free_in_cgroup()]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(UNKNOWN);
    (free as f64 * SHARE) as usize
}

fn free_in_system() -> Option<usize> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The tightest limit of this process's group and the groups around it (cgroup v2, then v1).
fn free_in_cgroup() -> Option<usize> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let v2 = groups.lines().filter_map(|line| line.strip_prefix("0::"));
    let v2 = v2.filter_map(|group| {
        let root = Path::new("/sys/fs/cgroup");
        let group = root.join(group.trim_start_matches('/'));
        group
            .ancestors()
            .take_while(|path| path.starts_with(root))
            .filter_map(|path| free_below(path, "memory.max", "memory.current"))
            .min()
    });
    let v1 = free_below(
        Path::new("/sys/fs/cgroup/memory"),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
    );
    v2.chain(v1).min()
}

fn free_below(group: &Path, limit: &str, used: &str) -> Option<usize> {
    let read = |name: &str| -> Option<usize> {
        fs::read_to_string(group.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    Some(read(limit)?.saturating_sub(read(used)?))
}
