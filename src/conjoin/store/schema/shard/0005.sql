-- For people who look for few of very many; an index costs every commit that writes such a row, so these are all there
-- are. Most messages are correlated and most instances have completed: those stand in no index by their state. Names and
-- keys may be longer than an index holds, so they stand there with their beginning.
-- Where two would do, SQLite takes the one that was made last: by its correlation key a message is found fastest.
create index message_name on message (substr(name, 1, 100), key);
create index message_verdict on message (verdict, key) where verdict <> 'correlated';
create index message_reason on message (reason, key) where verdict <> 'correlated';
create index message_key on message (substr(correlation_key, 1, 100), key);
create index instance_state on instance (state, key) where state <> 'completed';
