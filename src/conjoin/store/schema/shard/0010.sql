-- Most instances wait for one message: that subscription, and those that were closed before it, stand in the row of the
-- instance, which a message writes anyway. `subscription` is a view from now on, and shows all of them alike.
alter table subscription rename to subscription_apart;
alter table instance add column wait_on {text};
alter table instance add column wait_key {int} not null default 0;
alter table instance add column wait_name {text} not null default '';
alter table instance add column wait_element_key {int} not null default 0;
alter table instance add column wait_element_id {text} not null default '';
alter table instance add column wait_opened_at {int} not null default 0;
alter table instance add column wait_interrupting {int} not null default 0;
alter table instance add column closed_waits {text} not null default '[]';
create index instance_wait on instance ({short_tenant_id}, {short_wait_on}) where wait_on is not null;
create view subscription_at_home as
select tenant_id, wait_on as correlation_key, wait_key as key, wait_name as name, process_id, key as instance_key,
    wait_element_key as element_key, wait_element_id as element_id, wait_opened_at as opened_at,
    wait_interrupting as interrupting, business_id, cast(0 as {int}) as busy_with, cast(null as {int}) as closed_at,
    {empty} as crowd
from instance where wait_on is not null and wait_key > 0;
create view closed_subscription_at_home as
select i.tenant_id, i.wait_on as correlation_key, {closed_key} as key, {closed_name} as name, i.process_id,
    i.key as instance_key, {closed_element_key} as element_key, {closed_element_id} as element_id,
    {closed_opened_at} as opened_at, {closed_interrupting} as interrupting, i.business_id,
    cast(0 as {int}) as busy_with, {closed_at} as closed_at, {empty} as crowd
from instance as i cross join {closed_waits} where i.wait_on is not null and i.closed_waits <> '[]';
create view subscription as
select tenant_id, correlation_key, key, name, process_id, instance_key, element_key, element_id, opened_at, interrupting,
    business_id, busy_with, closed_at, crowd
from subscription_apart
union all
select * from subscription_at_home
union all
select * from closed_subscription_at_home;
-- People look messages up by their correlation key and by their name. An index in the order of a key that is drawn at
-- random writes another page for nearly every message; so messages are looked up part by part, in the order in which they
-- came (32,768 numbers each), and a commit writes at the end of the index. `message_part` says which parts there are, and
-- in which of them a name occurs (its beginning; the empty one stands for all).
drop index message_name;
drop index message_key;
create index message_key on message ((key >> 15), substr(correlation_key, 1, 100), key);
create table message_part (
    name_start {text} not null,
    part_number {int} not null,
    primary key (name_start, part_number)
) {clustered};
insert into message_part select distinct '', key >> 15 from message;
insert into message_part select distinct substr(name, 1, 100), key >> 15 from message where name <> '';
