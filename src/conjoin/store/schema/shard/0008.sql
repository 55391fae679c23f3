-- What could not be carried out, and waits for a person; the rest of its shard goes on without it.
create table set_aside (
    key {int} primary key,
    kind {text} not null,
    item_key {int} not null,
    sender {int} not null,
    tenant_id {text} not null,
    instance_key {int} not null,
    since {int} not null,
    tried_at {int} not null,
    attempts {int} not null,
    next_try_at {int},
    state {text} not null,
    reason {text} not null,
    command {text} not null
);
create index set_aside_item on set_aside (kind, item_key);
create index set_aside_due on set_aside (next_try_at, key) where next_try_at is not null;
