#!/bin/sh
# Reads paths of test files in dist/, one a line, and prints those to run. Unit tests of one folder below server/ or
# storage/ become one file that imports them: a process loads the modules that they share once, which takes
# half the processor time of a process for each. Tests of e2e/ stay files of their own, as each starts servers.
# Node runs files by name: the groups of storage/ come first, as those of etcd wait for deadlines and would end last, alone.
set -eu
cd "$(dirname "$0")/.."

groups=dist/unit-groups
rm -rf "$groups"
mkdir -p "$groups"
sort | while read -r file; do
  case $file in
    dist/server/*/*|dist/storage/*/*)
      folder=$(echo "$file" | cut -d/ -f2,3 | tr / - | sed "s/^storage/1-storage/; s/^server/2-server/")
      echo "import \"../../$file\";" >> "$groups/$folder.test.js" ;;
    *) echo "$file" ;;
  esac
done
find "$groups" -name '*.test.js'
