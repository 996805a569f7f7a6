"""What the workers of all brokers are given to do: nothing."""
