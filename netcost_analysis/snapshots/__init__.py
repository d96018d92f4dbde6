"""What a bundle records about its host beside the trace: counters, the service, power, daemons."""
