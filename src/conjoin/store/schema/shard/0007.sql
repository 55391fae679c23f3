-- A call activity is found by its key: whoever it called knows no more of its caller.
insert into scope (key, instance_key)
with recursive inside (said, instance_key) as (
    select body, key from instance where state = 'active'
    union all
    select {child}, inside.instance_key from inside cross join {children_of_said}
)
select {key_of_said}, instance_key from inside where {called_by_said} > 0
on conflict do nothing;
