"""conjoin inbox: messages that are kept, retried until they are taken, and fixed by an operator if they are not."""
