"""What commands ask of an engine, and the two that answer: a store on this machine, and a server somewhere."""
