create table facts (
    shards {int} not null,
    profile {text} not null,
    unique_business_ids {int} not null
);

create table catalog (
    version {int} not null
);

create table definition (
    key {int} primary key,
    catalog_version {int} not null,
    tenant_id {text} not null,
    process_id {text} not null,
    version {int} not null,
    resource {text} not null,
    digest {text} not null,
    deployed_at {int} not null
);

create table resource (
    digest {text} primary key,
    content {blob} not null
);

create table policy (
    catalog_version {int} not null,
    name {text} not null,
    policy {text} not null,
    set_at {int} not null,
    primary key (catalog_version, name)
);

create table lease (
    name {text} primary key,
    holder {text} not null,
    until {int} not null
);
