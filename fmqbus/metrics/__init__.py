"""The vitals of a bus for Prometheus. An embedding application registers a `fmqbus.metrics.collector.BusCollector`;
`fmqbus.protocols.http` shows it to scrapers."""
