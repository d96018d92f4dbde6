"""What was recorded: opened, as events and samples."""
