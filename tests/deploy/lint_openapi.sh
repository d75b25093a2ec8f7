#!/usr/bin/env bash
# docs/openapi.json as a linter that is not ours reads it: whatever it says is a failure. Usage: lint_openapi.sh FILE
# Exit status 77 (skipped) if npm cannot be asked for the linter: without a network, once it was never fetched.
set -uo pipefail
readonly linter=@redocly/cli@1.25.0
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npm_config_update_notifier=false

if ! said=$(timeout 240 npx --yes --prefer-offline "$linter" --version 2>&1); then
  printf 'skipped: npx cannot fetch %s (no network?). Its last words:\n%s\n' "$linter" "$(tail -n 5 <<< "$said")" >&2
  exit 77
fi
exec npx --yes --prefer-offline "$linter" lint --extends recommended-strict "$1"
