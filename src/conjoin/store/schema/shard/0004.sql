-- The inbox: messages that are tried in batches. What came in with one is written once and lies beside it.
create table inbox (
    key {int} primary key,
    channel {text} not null,
    tenant_id {text} not null,
    message_id {text} not null,
    type {text} not null,
    name {text} not null,
    correlation_key {text} not null,
    target {text} not null,
    group_key {text} not null,
    place {text} not null,
    sort_value {text} not null,
    position {int} not null,
    event_at {int} not null,
    ingested_at {int} not null,
    grace_until {int} not null,
    expires_at {int},
    state {text} not null,
    in_line {int} not null,
    attempts {int} not null,
    due_at {int},
    next_retry_at {int},
    tried_at {int},
    error_kind {text} not null,
    error_text {text} not null,
    parked_for {text} not null,
    verdict {text} not null,
    reason {text} not null,
    decided_at {int},
    taken_by {text} not null,
    message_key {int} not null,
    lines {int} not null
);
-- A run looks at the few of a group that it needs: millions that are parked or have ended stand in no index of these.
create index inbox_line on inbox (group_key, place, key) where in_line = 1;
create index inbox_due on inbox (group_key, due_at, key) where in_line = 1 and due_at is not null;
create index inbox_failed on inbox (group_key, due_at) where in_line = 1 and attempts > 0;
create index inbox_uncertain on inbox (group_key, key) where state = 'uncertain';
create index inbox_parked on inbox (group_key, place, key) where state = 'parked';
create index inbox_identity on inbox (message_id, channel, tenant_id);
create index inbox_expiry on inbox (expires_at, key) where decided_at is null and expires_at is not null;
create index inbox_ended on inbox (decided_at, key) where decided_at is not null;
create index inbox_state on inbox (state, key);

create table inbox_content (
    key {int} primary key,
    about {text} not null,
    payload {blob} not null
);

create table inbox_attempt (
    inbox_key {int} not null,
    number {int} not null,
    at {int} not null,
    kind {text} not null,
    who {text} not null,
    verdict {text} not null,
    reason {text} not null,
    asked {text} not null,
    answered {text} not null,
    primary key (inbox_key, number)
) {clustered};

create table inbox_group (
    group_key {text} primary key,
    reach {text} not null,
    due_at {int} not null,
    version {int} not null
) {clustered};
create index inbox_group_due on inbox_group (reach, due_at, group_key);
