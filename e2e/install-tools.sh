#!/bin/sh
# Gets the programs that tests run next to Keelson: etcd (3.5 or newer), etcd-3.4 (the oldest etcd we
# support, optional), redis-server and kubectl. Each is looked for on PATH and in .tools/bin of the
# repository; what is missing comes from the package sources that this machine's own apt is set up
# with, and from the same mirror's neighbouring releases, unpacked below .tools. Nothing is installed
# into the system, no service is started, apt's own state is not touched, root is not needed.
#
#   e2e/install-tools.sh                    all of them
#   e2e/install-tools.sh etcd redis-server  only these
#   e2e/install-tools.sh client-go          only when asked for: Go with the library client-go, 120 MB
#
# Prints the path of each tool asked for. Exit code 0: all are there (etcd-3.4 may be missing: it is
# optional).
set -u

repository=$(cd "$(dirname "$0")/.." && pwd)
tools=$repository/.tools
bin=$tools/bin
work=
mkdir -p "$bin"
PATH=$PATH:/usr/sbin:/sbin

say() { echo "install-tools: $*" >&2; }
cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT
trap 'exit 1' INT TERM

# ---- what is there ------------------------------------------------------------------------------

# Prints "3.5" for an etcd program that runs here, nothing for one that does not.
etcd_minor() { "$1" --version 2>/dev/null | sed -n 's/^etcd Version: \([0-9]*\.[0-9]*\).*/\1/p'; }

# Whether the program at $2 serves as the tool called $1.
serves() {
  [ -x "$2" ] || return 1
  case $1 in
    etcd) case $(etcd_minor "$2") in '' | [0-2].* | 3.[0-4]) return 1 ;; esac ;;
    etcd-3.4) [ "$(etcd_minor "$2")" = 3.4 ] ;;
    redis-server) "$2" --version >/dev/null 2>&1 ;;
    kubectl) "$2" version --client >/dev/null 2>&1 ;;
    client-go) "$2" list k8s.io/client-go/kubernetes >/dev/null 2>&1 ;;
  esac
}

# Prints where tool $1 is: in .tools/bin or on PATH (an etcd of PATH may be either of the two).
find_tool() {
  for name in "$1" "${1%-3.4}"; do
    for candidate in "$bin/$1" "$(command -v "$name" 2>/dev/null)"; do
      serves "$1" "$candidate" && echo "$candidate" && return 0
    done
  done
  return 1
}

# ---- package sources ----------------------------------------------------------------------------

# Prints "uri signed-by" of the distribution's own archive: the first enabled apt source that offers
# component main of this release. Reads both formats of apt (deb822 stanzas and one-line entries).
archive() {
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] && awk -v release="$VERSION_CODENAME" '
      function flush() {
        if (enabled != "no" && (" " suites " ") ~ (" (" release "|stable|testing) ") && uri != "")
          print uri, (key ~ /^\// ? key : "-")
        uri = suites = key = enabled = ""
      }
      /^[ \t]*$/ { flush(); next }
      /^#/ { next }
      { name = tolower($1); value = $0; sub(/^[^:]*:[ \t]*/, "", value) }
      name == "uris:" { uri = $2 }
      name == "suites:" { suites = value }
      name == "signed-by:" { key = value }
      name == "enabled:" { enabled = tolower(value) }
      END { flush() }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -r "$file" ] && awk -v release="$VERSION_CODENAME" '
      $1 == "deb" {
        key = "-"
        if (match($0, /signed-by=[^] ]+/)) key = substr($0, RSTART + 10, RLENGTH - 10)
        sub(/\[[^]]*\]/, "")
        if ($3 ~ ("^(" release "|stable|testing)$") && (" " $0 " ") ~ / main /) print $2, key
      }' "$file"
  done
}

# Runs an apt program on suite $1 ("own": this machine's sources as they are) with its state kept
# apart from the machine's; $2 is the program, the rest its arguments.
apt() {
  suite=$1 program=$2
  shift 2
  state=$work/$suite
  set -- -q -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" \
    -o Dir::Cache="$state/cache" -o Dir::Etc::preferences=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User= -o Acquire::Languages=none \
    -o Acquire::Retries=2 "$@"
  [ "$suite" = own ] || set -- -o Dir::Etc::sourcelist="$state/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null "$@"
  "$program" "$@" 2>>"$work/log" </dev/null
}

# Fetches the package lists of suite $1, once. Fails when the mirror has none.
open_suite() {
  state=$work/$1
  [ ! -e "$state/failed" ] || return 1
  [ ! -d "$state" ] || return 0
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  : >"$state/status"
  if [ "$1" != own ]; then
    read -r uri key <<END
$(archive | head -n 1)
END
    [ -n "${uri:-}" ] || { : >"$state/failed"; return 1; }
    options=
    [ "${key:--}" = - ] || options="[signed-by=$key] "
    echo "deb $options$uri $1 main" >"$state/sources.list"
  fi
  # A third party's source that is out of reach must not hide the distribution's: judged by lists.
  apt "$1" apt-get update >/dev/null
  ls "$state/lists" | grep -q Packages || { : >"$state/failed"; return 1; }
}

# Unpacks package $2 (of suite $1) with the version pattern $3 below directory $4.
unpack() {
  open_suite "$1" || return 1
  version=$(apt "$1" apt-cache madison "$2" | awk -F' *[|] *' '{print $2}' | grep -m 1 -E "$3") || return 1
  rm -rf "$work/deb" && mkdir -p "$work/deb" "$4"
  (cd "$work/deb" && apt "$1" apt-get download "$2=$version" >/dev/null) || return 1
  for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$4" 2>>"$work/log" || return 1; done
}

# ---- tools --------------------------------------------------------------------------------------

# Makes program $2 below $tools the tool $1, if it runs here; its libraries may lie beside it.
offer() {
  [ -e "$tools/$2" ] || return 1
  cat >"$bin/$1" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$(readlink -f "\$0")")/.." && pwd)
libraries=\$(ls -d "\$here/${2%%/*}"/usr/lib/*-linux-gnu 2>/dev/null)
[ -z "\$libraries" ] || export LD_LIBRARY_PATH="\$libraries"
exec "\$here/$2" "\$@"
END
  chmod +x "$bin/$1"
  serves "$1" "$bin/$1" || { rm -f "$bin/$1"; return 1; }
}

get_etcd() {
  for suite in own $newer; do
    rm -rf "$tools/etcd"
    unpack "$suite" etcd-server '^(3\.([5-9]|[1-9][0-9])|[4-9])' "$tools/etcd" &&
      offer etcd etcd/usr/bin/etcd && return 0
  done
  return 1
}

get_etcd_oldest() {
  for suite in own $older; do
    rm -rf "$tools/etcd-3.4"
    unpack "$suite" etcd-server '^3\.4\.' "$tools/etcd-3.4" &&
      offer etcd-3.4 etcd-3.4/usr/bin/etcd && return 0
  done
  return 1
}

get_redis() {
  for suite in own $newer; do
    rm -rf "$tools/redis"
    for package in redis-server redis-tools libjemalloc2 liblzf1 libatomic1; do
      unpack "$suite" "$package" . "$tools/redis" || continue 2
    done
    offer redis-server redis/usr/bin/redis-server && return 0
  done
  return 1
}

# kubectl: a package of that name anywhere, else Debian's older name for it, newest release first.
get_kubectl() {
  for choice in own:kubectl $(for s in $newer; do echo "$s:kubectl $s:kubernetes-client"; done) \
    own:kubernetes-client; do
    rm -rf "$tools/kubectl"
    unpack "${choice%%:*}" "${choice#*:}" . "$tools/kubectl" &&
      offer kubectl kubectl/usr/bin/kubectl && return 0
  done
  return 1
}

# Go and the sources of client-go with all that they need, as packages of one release. The program is
# Go itself, told where those sources are; nothing is fetched when it builds.
get_client_go() {
  for suite in $newest; do
    open_suite "$suite" || continue
    rm -rf "$tools/client-go" "$work/deb" && mkdir -p "$tools/client-go" "$work/deb"
    packages=$(apt "$suite" apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
      --no-breaks --no-replaces --no-enhances golang-k8s-client-go-dev golang-go |
      grep -E '^golang-' | sort -u)
    [ -n "$packages" ] || continue
    (cd "$work/deb" && apt "$suite" apt-get download $packages >/dev/null) || continue
    for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$tools/client-go" || continue 2; done
    cat >"$bin/client-go" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)/client-go
GOROOT=$(ls -d "$here"/usr/lib/go-*)
export GOROOT GOPATH="$here/usr/share/gocode" GOCACHE="$here/cache"
export GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0
exec "$GOROOT/bin/go" "$@"
END
    chmod +x "$bin/client-go"
    serves client-go "$bin/client-go" && return 0
  done
  return 1
}

[ $# -gt 0 ] || set -- etcd etcd-3.4 redis-server kubectl
missing=
paths=
for tool in "$@"; do
  case $tool in
    etcd | etcd-3.4 | redis-server | kubectl | client-go)
      path=$(find_tool "$tool") && paths="$paths$path\n" || missing="$missing $tool" ;;
    *) say "no such tool: $tool (etcd, etcd-3.4, redis-server, kubectl, client-go)" && exit 2 ;;
  esac
done
printf "$paths"
[ -n "$missing" ] || exit 0

# Two runs at once would unpack over each other: the second waits, then finds everything there.
if [ -z "${KEELSON_TOOLS_LOCKED:-}" ] && command -v flock >/dev/null 2>&1; then
  KEELSON_TOOLS_LOCKED=1 exec flock "$tools/lock" sh "$0" $missing
fi

work=$(mktemp -d)
VERSION_CODENAME= ID=
[ ! -r /etc/os-release ] || . /etc/os-release
case $ID in
  ubuntu) newer=devel older= newest=devel ;;
  *) newer="stable testing" older="oldstable stable" newest="testing stable" ;;
esac
has_apt=yes
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || has_apt=

status=0
for tool in $missing; do
  if [ -n "$has_apt" ]; then
    say "getting $tool from this machine's package sources"
    case $tool in
      etcd) get_etcd && echo "$bin/etcd" && continue ;;
      etcd-3.4) get_etcd_oldest && echo "$bin/etcd-3.4" && continue ;;
      redis-server) get_redis && echo "$bin/redis-server" && continue ;;
      kubectl) get_kubectl && echo "$bin/kubectl" && continue ;;
      client-go) get_client_go && echo "$bin/client-go" && continue ;;
    esac
  fi
  reason=$(grep -m 1 '^E:' "$work/log" 2>/dev/null)
  case $tool in
    etcd) say "not found: please install etcd 3.5 or newer on PATH or in .tools/bin${reason:+ ($reason)}" ;;
    etcd-3.4) say "not found: etcd 3.4 as .tools/bin/etcd-3.4 (optional)${reason:+ ($reason)}" && continue ;;
    *) say "not found: please install $tool on PATH or in .tools/bin${reason:+ ($reason)}" ;;
  esac
  status=1
done
exit $status
