-- An index of PostgreSQL holds no more than about 2,700 bytes a row, and a text that a client has made may be longer. So
-- whatever a client names stands in an index as `short_text`: itself up to 100 characters; a longer one as its beginning
-- and its digest, which nobody can make equal for two texts. Statements ask in the same words (see `sql.py`). The server
-- puts the body of this function in the place of its call.
create function short_text(text) returns text language sql immutable parallel safe as
    'select case when length($1) <= 100 then $1 else
     left($1, 100) || encode(sha256(replace($1, E''\\'', E''\\\\'')::bytea), ''hex'') end';

drop index message_live;
create index message_live on message (short_text(correlation_key), short_text(tenant_id), key) where live = 1;
drop index message_id;
create index message_id on message
    (short_text(correlation_key), short_text(tenant_id), short_text(name), short_text(message_id))
    where live = 1 and message_id <> '';
drop index message_business_id;
create index message_business_id on message (short_text(business_id), short_text(tenant_id), key)
    where live = 1 and business_id <> '';

alter table subscription drop constraint subscription_pkey;
create unique index subscription_key on subscription (short_text(tenant_id), short_text(correlation_key), key);
drop index subscription_idle;
create index subscription_idle on subscription (short_text(correlation_key), short_text(tenant_id), crowd)
    where crowd <> '' and busy_with = 0 and closed_at is null;
drop index subscription_busy;
create index subscription_busy on subscription (short_text(correlation_key), short_text(tenant_id), crowd)
    where crowd <> '' and busy_with <> 0 and closed_at is null;
drop index subscription_kept;
create index subscription_kept on subscription (short_text(correlation_key), short_text(tenant_id), crowd)
    where crowd <> '' and busy_with = 0 and closed_at is not null;

alter table start_lock drop constraint start_lock_pkey;
create unique index start_lock_key on start_lock
    (short_text(tenant_id), short_text(correlation_key), short_text(process_id));

drop index instance_business_id;
create index instance_business_id on instance (short_text(business_id), short_text(process_id), short_text(tenant_id))
    where business_id <> '' and state = 'active';

drop index job_ready;
create index job_ready on job (short_text(type), short_text(tenant_id), key) where state = 'ready';
drop index timer_start;
create index timer_start on timer (short_text(process_id), short_text(tenant_id)) where instance_key = 0;
drop index signal_name;
create index signal_name on signal (short_text(name), short_text(tenant_id));

alter table position drop constraint position_pkey;
create unique index position_key on position (short_text(source), short_text(part));
drop index dead_letter_source;
create index dead_letter_source on dead_letter (short_text(source), key);

-- A place has 1,300 bytes at most: whoever makes one sees to that.
drop index inbox_line;
create index inbox_line on inbox (short_text(group_key), place, key) where in_line = 1;
drop index inbox_due;
create index inbox_due on inbox (short_text(group_key), due_at, key) where in_line = 1 and due_at is not null;
drop index inbox_failed;
create index inbox_failed on inbox (short_text(group_key), due_at) where in_line = 1 and attempts > 0;
drop index inbox_uncertain;
create index inbox_uncertain on inbox (short_text(group_key), key) where state = 'uncertain';
drop index inbox_parked;
create index inbox_parked on inbox (short_text(group_key), place, key) where state = 'parked';
drop index inbox_identity;
create index inbox_identity on inbox (short_text(message_id), short_text(channel), short_text(tenant_id));

alter table inbox_group drop constraint inbox_group_pkey;
create unique index inbox_group_key on inbox_group (short_text(group_key));
drop index inbox_group_due;
create index inbox_group_due on inbox_group (reach, due_at, short_text(group_key));
