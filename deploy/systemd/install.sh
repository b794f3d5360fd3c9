#!/bin/sh
# Puts Keelson where the units look for it (PREFIX/bin/keelson), and the units where systemd finds them. As root:
#
#   deploy/systemd/install.sh FILE.tgz      the package, as `npm pack` in the repository makes it
#   systemctl enable --now keelson
#
# PREFIX (default /usr/local) and UNITS (default /etc/systemd/system) may be other folders. Run it again to upgrade, then
# restart the units one machine after the other. Needs Node.js 22 or newer and npm on the PATH that services have: /usr/local/bin, /usr/bin.
set -eu
package=${1:?usage: install.sh FILE.tgz}
prefix=${PREFIX:-/usr/local}
units=${UNITS:-/etc/systemd/system}
here=$(cd "$(dirname "$0")" && pwd)

npm install --global --prefix "$prefix" --omit=dev --no-audit --no-fund "$package"
"$prefix/bin/keelson" version

mkdir -p "$units"
for unit in keelson.service keelson-controllers.service; do
  sed "s#/usr/local/bin/keelson#$prefix/bin/keelson#" "$here/$unit" > "$units/$unit"
done
# Where the units read their flags.
if [ "$units" = /etc/systemd/system ]; then mkdir -p /etc/keelson; fi
# Nothing to tell where the units are for another machine, or systemd does not run.
if [ "$units" = /etc/systemd/system ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
