#!/usr/bin/env bash
# Installs Debian's Chromium where it is missing and can be installed, for the tests of the report in a browser.
# It never fails: without a browser those tests are skipped, and say so.
set -u

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null; then
        exit 0
    fi
done

if ! command -v apt-get > /dev/null; then
    echo "no browser, and no apt-get to install one: the tests in a browser will be skipped"
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo --non-interactive"
fi

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { timeout 120 $as_root apt-get update -qq && timeout 600 $as_root apt-get install -y -qq --no-install-recommends chromium; } > "$log" 2>&1; then
    echo "Chromium could not be installed, so the tests in a browser will be skipped:"
    tail -n 3 "$log"
fi
rm -f "$log"
exit 0
