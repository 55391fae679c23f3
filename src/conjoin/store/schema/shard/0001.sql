-- {int}, {text}, {blob}, {clustered} and {room} are the words of the database in use.
create table shard (
    version {int} not null,
    next_key {int} not null,
    time {int} not null,
    sent {int} not null
);

create table message (
    key {int} primary key,
    tenant_id {text} not null,
    correlation_key {text} not null,
    name {text} not null,
    message_id {text} not null,
    business_id {text} not null,
    published_at {int} not null,
    deadline {int} not null,
    live {int} not null,
    due_at {int},
    policy_version {int} not null,
    verdict {text} not null,
    reason {text} not null,
    decided_at {int} not null,
    variables {text} not null,
    record {text} not null
);
-- What the rules look at: few of many, so what was taken at once costs no index.
create index message_live on message (correlation_key, tenant_id, key) where live = 1;
-- One key may have a million live messages.
create index message_id on message (correlation_key, tenant_id, name, message_id) where live = 1 and message_id <> '';
create index message_due on message (due_at, key) where due_at is not null;

create table subscription (
    tenant_id {text} not null,
    correlation_key {text} not null,
    key {int} not null,
    name {text} not null,
    process_id {text} not null,
    instance_key {int} not null,
    element_key {int} not null,
    element_id {text} not null,
    opened_at {int} not null,
    interrupting {int} not null,
    business_id {text} not null,
    busy_with {int} not null,
    closed_at {int},
    primary key (tenant_id, correlation_key, key)
) {clustered};

create table start_lock (
    tenant_id {text} not null,
    correlation_key {text} not null,
    process_id {text} not null,
    instance_key {int} not null,
    since {int} not null,
    message_key {int} not null,
    primary key (tenant_id, correlation_key, process_id)
) {clustered};

create table instance (
    key {int} primary key,
    tree_key {int} not null,
    definition_key {int} not null,
    process_id {text} not null,
    version {int} not null,
    tenant_id {text} not null,
    business_id {text} not null,
    started {text} not null,
    parent_key {int} not null,
    lock_key {text},
    state {text} not null,
    started_at {int} not null,
    ended_at {int},
    incidents {int} not null,
    body {text} not null
) {room};
create index instance_tree on instance (tree_key) where parent_key <> 0;
create index instance_business_id on instance (business_id, process_id, tenant_id)
    where business_id <> '' and state = 'active';

create table job (
    key {int} primary key,
    instance_key {int} not null,
    element_key {int} not null,
    element_id {text} not null,
    tenant_id {text} not null,
    type {text} not null,
    state {text} not null,
    retries {int} not null,
    due_at {int},
    worker {text} not null,
    message {text} not null
);
create index job_ready on job (type, tenant_id, key) where state = 'ready';
create index job_due on job (due_at, key) where due_at is not null;

create table timer (
    key {int} primary key,
    instance_key {int} not null,
    owner_key {int} not null,
    element_id {text} not null,
    due_at {int} not null,
    repetitions {int} not null,
    months {int} not null,
    microseconds {int} not null,
    tenant_id {text} not null,
    process_id {text} not null
);
create index timer_due on timer (due_at, key);
create index timer_start on timer (process_id, tenant_id) where instance_key = 0;

create table incident (
    key {int} primary key,
    instance_key {int} not null,
    element_key {int} not null,
    element_id {text} not null,
    job_key {int} not null,
    error_type {text} not null,
    text {text} not null
);

create table signal (
    key {int} primary key,
    instance_key {int} not null,
    tenant_id {text} not null,
    name {text} not null
);
create index signal_name on signal (name, tenant_id);

create table scope (
    key {int} primary key,
    instance_key {int} not null
);

create table outbox (
    seq {int} primary key,
    receiver {int} not null,
    counter {int} not null,
    command {text} not null
);

create table received (
    sender {int} primary key,
    seq {int} not null
);

create table position (
    source {text} not null,
    part {text} not null,
    position {text} not null,
    primary key (source, part)
) {clustered};

create table log (
    version {int} primary key,
    catalog_version {int} not null,
    at {int} not null,
    block {blob} not null
);
