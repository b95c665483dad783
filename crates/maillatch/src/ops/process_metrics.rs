//! What the operating system says about this process, by the names that Prometheus agrees
//! on, and which build it is.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// The kernel counts processor time for programs in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// Adds the metrics of this process and its build.
pub(crate) fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(Process));
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    let registry = registry.sub_registry_with_prefix("maillatch");
    registry.register("build", "The version of this binary", build);
}

#[derive(Debug)]
struct Process;

impl Collector for Process {
    /// What cannot be read is left out: only Linux has these files.
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let help = "Processor time of this process";
            let kind = MetricType::Counter;
            let unit = Some(&Unit::Seconds);
            let encoder = encoder.encode_descriptor("process_cpu", help, unit, kind)?;
            ConstCounter::new(seconds).encode(encoder)?;
        }
        let bytes = Some(&Unit::Bytes);
        let help = "Memory of this process that is in RAM";
        gauge(
            &mut encoder,
            "process_resident_memory",
            help,
            bytes,
            status_bytes("VmRSS:"),
        )?;
        let help = "Address space of this process";
        gauge(
            &mut encoder,
            "process_virtual_memory",
            help,
            bytes,
            status_bytes("VmSize:"),
        )?;
        let help = "Open files and sockets";
        gauge(&mut encoder, "process_open_fds", help, None, open_files())?;
        let help = "The most open files and sockets that the system allows";
        gauge(&mut encoder, "process_max_fds", help, None, max_files())?;
        let help = "When this process started, in seconds since 1970";
        let seconds = Some(&Unit::Seconds);
        gauge(
            &mut encoder,
            "process_start_time",
            help,
            seconds,
            start_time(),
        )
    }
}

fn gauge<N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: Option<N>,
) -> Result<(), fmt::Error> {
    let Some(value) = value else { return Ok(()) };
    let encoder = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
    ConstGauge::new(value).encode(encoder)
}

/// A field of `/proc/self/stat`, counted from 3 as the manual does. The name of the
/// program, field 2, may contain spaces.
fn stat_field(number: usize) -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let field = fields.split(' ').nth(number.checked_sub(3)?)?;
    field.parse().ok()
}

fn cpu_seconds() -> Option<f64> {
    let (user, system) = (stat_field(14)?, stat_field(15)?);
    Some((user + system) / TICKS_PER_SECOND)
}

/// The boot of the machine, and how long after it the process started.
fn start_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let boot: f64 = boot.trim().parse().ok()?;
    Some(boot + stat_field(22)? / TICKS_PER_SECOND)
}

/// A field of `/proc/self/status` in kibibytes, as bytes.
fn status_bytes(name: &str) -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let field = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: i64 = field.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn open_files() -> Option<i64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    // One of them is the directory that is being read.
    i64::try_from(open.saturating_sub(1)).ok()
}

fn max_files() -> Option<i64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn every_process_metric_has_a_plausible_value() {
        let mut registry = Registry::default();
        register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(name));
            let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        assert!(value("process_cpu_seconds_total") >= 0.0);
        assert!(value("process_resident_memory_bytes") > 1_000_000.0);
        assert!(value("process_virtual_memory_bytes") > 1_000_000.0);
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_max_fds") >= value("process_open_fds"));
        let started = value("process_start_time_seconds");
        let now = i32::try_from(pipeline::Clock::now(&pipeline::SystemClock).as_seconds());
        let age = f64::from(now.unwrap()) - started;
        assert!((-2.0..86_400.0).contains(&age), "{age}");
        let build = format!(
            "maillatch_build_info{{version=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION")
        );
        assert!(text.contains(&build), "{text}");
    }
}
