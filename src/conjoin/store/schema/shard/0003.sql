-- Rows of a source that never became a message.
create table dead_letter (
    key {int} primary key,
    source {text} not null,
    part {text} not null,
    position {int} not null,
    reason {text} not null,
    text {text} not null,
    raw {blob} not null,
    at {int} not null
);
create index dead_letter_source on dead_letter (source, key);
