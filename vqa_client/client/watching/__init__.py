"""What servers say and do beside their answers."""
