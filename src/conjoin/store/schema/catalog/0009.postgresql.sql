-- See the step of the same number for shards.
create function short_text(text) returns text language sql immutable parallel safe as
    'select case when length($1) <= 100 then $1 else
     left($1, 100) || encode(sha256(replace($1, E''\\'', E''\\\\'')::bytea), ''hex'') end';

alter table policy drop constraint policy_pkey;
create unique index policy_key on policy (catalog_version, short_text(name));
