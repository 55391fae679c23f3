-- One correlation key may be awaited by a hundred thousand. `crowd` says where one of them stands: by name, process and
-- rank. It is empty where few wait, so that only a key with very many costs these indexes anything.
alter table subscription add column crowd {text} not null default '';
create index subscription_idle on subscription (correlation_key, tenant_id, crowd)
    where crowd <> '' and busy_with = 0 and closed_at is null;
create index subscription_busy on subscription (correlation_key, tenant_id, crowd)
    where crowd <> '' and busy_with <> 0 and closed_at is null;
create index subscription_kept on subscription (correlation_key, tenant_id, crowd)
    where crowd <> '' and busy_with = 0 and closed_at is not null;
