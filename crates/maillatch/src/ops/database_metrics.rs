//! The connections to the database, counted at each scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use store::Store;

/// Adds the metrics of a database's connections.
pub(crate) fn register(registry: &mut Registry, store: &Store) {
    let connections = DatabaseConnections(store.clone());
    let registry = registry.sub_registry_with_prefix("maillatch");
    registry.register_collector(Box::new(connections));
}

struct DatabaseConnections(Store);

impl fmt::Debug for DatabaseConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseConnections")
    }
}

impl Collector for DatabaseConnections {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let pool = self.0.connections();
        let help = "Connections to the database, by state";
        let name = "database_connections";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (state, count) in [("idle", pool.idle), ("used", pool.used)] {
            let labels = [("state", state)];
            let encoder = family.encode_family(&labels)?;
            ConstGauge::new(i64::from(count)).encode(encoder)?;
        }
        let help = "The most connections to the database that this process opens";
        let name = "database_connections_max";
        let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::from(pool.most)).encode(encoder)
    }
}
