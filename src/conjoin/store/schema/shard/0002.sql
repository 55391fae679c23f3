-- Where a business id may be held by one instance at a time, a message waits for its id, whatever its correlation key.
create index message_business_id on message (business_id, tenant_id, key) where live = 1 and business_id <> '';
