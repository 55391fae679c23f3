"""What is stored, as rows and JSON: instances, messages, subscriptions, commands, events. Nothing here decides."""
