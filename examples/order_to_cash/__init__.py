"""Order to cash: a shop's day of messages, with everything in it that can happen to one."""
