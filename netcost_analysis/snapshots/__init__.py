"""What a bundle keeps of its host beside the trace: counters, the service, power, daemons."""
