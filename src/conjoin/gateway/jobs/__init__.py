"""Who waits for something that happens later: workers for jobs, clients for the end of an instance."""
