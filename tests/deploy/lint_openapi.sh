#!/usr/bin/env bash
# docs/openapi.json as a linter that is not ours reads it: whatever it says is a failure. Usage: lint_openapi.sh FILE
# Exit status 77 and a line SKIPPED with the reason (./check repeats it) where there is no npx, or npm cannot be asked for
# the linter: without a registry, if it was never fetched.
set -uo pipefail
readonly linter=@redocly/cli@1.25.0
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm_config_update_notifier=false

if ! command -v npx > /dev/null; then
  echo "SKIPPED: docs/openapi.json is not linted, there is no npx here (apt-get install npm)"
  exit 77
fi
if ! said=$(timeout 240 npx --yes --prefer-offline "$linter" --version 2>&1); then
  printf 'SKIPPED: docs/openapi.json is not linted, npx cannot fetch %s: %s\n' "$linter" \
    "$(grep -m 1 -E 'ERR!|E[A-Z]{4,}|rror' <<< "$said" || echo "no answer within 240 s")"
  exit 77
fi
exec npx --yes --prefer-offline "$linter" lint --extends recommended-strict "$1"
