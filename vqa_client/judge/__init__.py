"""Another model, or people, as the judge of a finished run's replies."""
