"""What UMQ clients can call that the bus itself answers; each is an `IUMQMethod`, as a vendor's is."""
