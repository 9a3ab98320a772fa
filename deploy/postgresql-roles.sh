#!/bin/sh
# Makes the two roles and the database (docs/operations/installing.md), with OWNER_PASSWORD and SERVICE_PASSWORD from the
# environment. It needs psql 14 or later and a role with CREATEROLE and CREATEDB, not a superuser. Run it again to finish
# a run that failed, or to set other passwords. PGHOST, PGUSER and PGPASSWORD say where and as whom; the image of
# PostgreSQL runs it when it makes its data. On Debian, as root, whatever the mode of the script's folder:
#   runuser -u postgres -- sh -s < postgresql-roles.sh
set -eu
: "${OWNER_PASSWORD:?}" "${SERVICE_PASSWORD:?}"
# psql reads the passwords from its environment: other users can read its arguments.
export OWNER_PASSWORD SERVICE_PASSWORD
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 ${POSTGRES_USER:+--username "$POSTGRES_USER"} --dbname postgres <<'SQL'
\getenv owner OWNER_PASSWORD
\getenv service SERVICE_PASSWORD
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['secretsvc_owner', 'secretsvc']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE secretsvc_owner PASSWORD :'owner';
ALTER ROLE secretsvc PASSWORD :'service';
-- Only a superuser or a member can make a database for a role and act as it. PostgreSQL 16 tells members who can from
-- those who cannot.
SELECT NOT pg_has_role('secretsvc_owner', CASE WHEN :SERVER_VERSION_NUM < 160000 THEN 'MEMBER' ELSE 'SET' END) AS joins
\gset
\if :joins
GRANT secretsvc_owner TO CURRENT_USER;
\endif
SELECT 'CREATE DATABASE secretsvc OWNER secretsvc_owner ENCODING ''UTF8'' TEMPLATE template0'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'secretsvc') \gexec
\connect secretsvc
SET ROLE secretsvc_owner;
REVOKE TEMPORARY ON DATABASE secretsvc FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO secretsvc;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO secretsvc;
RESET ROLE;
\if :joins
REVOKE secretsvc_owner FROM CURRENT_USER;
\endif
SQL
