# Sourced by the commands beside it: finds Python and Java, makes and re-uses virtual environments.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick="not hdfs and not s3 and not kafka and not metastore and not kerberos and not hive and not serve and not cluster and not packaging and not tpcds and not golden and not random and not slow and not repeated and not faults"
export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}
# Without compiled modules each of the many processes of the tests would compile all of acidsql.
unset PYTHONDONTWRITEBYTECODE

fail() {
  echo "error: $*" >&2
  exit 1
}

# Can this interpreter make a virtual environment, and is it new (and not too new) enough?
# usable_python COMMAND [HIGHEST_MINOR]
usable_python() {
  "$1" - "${2:-99}" >/dev/null 2>&1 <<'PYTHON'
import ensurepip
import sys
import venv

sys.exit(not ((3, 11) <= sys.version_info[:2] <= (3, int(sys.argv[1]))))
PYTHON
}

# Prints the first usable interpreter. find_python [HIGHEST_MINOR]
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3 python3.12 python3.11 python3.13 python3.14 python; do
    if usable_python "$candidate" "${1:-99}"; then
      command -v "$candidate"
      return
    fi
  done
  fail "no Python from 3.11${1:+ to 3.$1} with the venv and ensurepip modules was found" \
    "(Debian and Ubuntu: apt install python3-venv; or set PYTHON to one)"
}

require_java() {
  local java=java version
  [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
  version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || true
  [ "${version:-0}" -ge 17 ] ||
    fail "Java 17 or newer is needed to run Spark" \
      "(found: ${version:-none}; install one, or set JAVA_HOME to its directory)"
}

# make_environment DIRECTORY EXTRA [HIGHEST_PYTHON_MINOR [REQUIREMENT]]
# Installs this checkout with an extra ("" for none), unless the directory holds it already.
make_environment() {
  local venv=$1 extra=$2 highest=${3:-99} requirement=${4:-} python wanted present
  wanted="$(cksum <"$root/pyproject.toml") $root $requirement"
  for present in "$extra" dev; do # dev has everything
    if [ -x "$venv/bin/python" ] &&
      [ "$(cat "$venv/.installed-$present" 2>/dev/null)" = "$wanted" ]; then
      return
    fi
  done
  python=$(find_python "$highest") || exit 1
  echo "installing acidsql${extra:+[$extra]} in $venv with $("$python" --version)" >&2
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --editable "$root${extra:+[$extra]}" ${requirement:+"$requirement"}
  echo "$wanted" >"$venv/.installed-$extra"
}

# environment_on_pyspark VERSION DIRECTORY EXTRA
environment_on_pyspark() {
  local highest=99
  case $1 in
    3.5.*) highest=12 ;; # later Pythons cannot unpickle what its bundled cloudpickle writes
  esac
  make_environment "$2" "$3" "$highest" "pyspark==$1"
}
