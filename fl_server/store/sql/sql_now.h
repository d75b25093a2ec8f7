// The database's own clock as SQL: milliseconds since 1970, also in the middle of a transaction.
#pragma once

#define COT_SQLITE_NOW "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
#define COT_POSTGRES_NOW "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
