"""What clients wait for: workers for jobs, creations with result for the end of their instance."""
