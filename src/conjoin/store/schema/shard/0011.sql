-- What came near to a message when it was lost, and which other messages were sent in place of it or of which one. It is
-- written behind the commits, and nothing of the state follows from it.
create table evidence (
    message_key {int} primary key,
    seen_at {int} not null,
    near {text} not null,
    replaced_by {int} not null,
    replaces {int} not null
);
