#!/bin/sh
# The two roles and the database (docs/operations/installing.md), once, as a superuser. The image of PostgreSQL runs it
# when it makes its data; elsewhere: POSTGRES_USER=postgres OWNER_PASSWORD=… SERVICE_PASSWORD=… sh postgresql-roles.sh
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --set owner="$OWNER_PASSWORD" --set service="$SERVICE_PASSWORD" \
	--username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE secretsvc_owner LOGIN PASSWORD :'owner';
CREATE ROLE secretsvc LOGIN PASSWORD :'service';
CREATE DATABASE secretsvc OWNER secretsvc_owner;
REVOKE TEMPORARY ON DATABASE secretsvc FROM PUBLIC;
\connect secretsvc
ALTER DEFAULT PRIVILEGES FOR ROLE secretsvc_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO secretsvc;
ALTER DEFAULT PRIVILEGES FOR ROLE secretsvc_owner GRANT USAGE ON SEQUENCES TO secretsvc;
SQL
