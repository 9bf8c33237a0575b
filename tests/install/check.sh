#!/usr/bin/env bash
# check.sh cmake|pkg-config SOURCE BUILD COMPILER: installs BUILD into a temporary prefix, builds the first C++ program
# of SOURCE/README.md as an outside project would, and runs it under mpirun and under the installed `godwit run`.
set -euo pipefail
way=$1 source=$2 build=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mkdir "$work/app"
awk '/^```cpp/ { inside = 1; next } /^```/ && inside { exit } inside' "$source/README.md" >"$work/app/app.cpp"
grep -q 'int main' "$work/app/app.cpp" || { echo "check.sh: README.md shows no C++ program" >&2; exit 1; }

if [[ $way == cmake ]]; then
  cp "$source/tests/install/consumer/CMakeLists.txt" "$work/app"
  cmake -S "$work/app" -B "$work/app/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler"
  cmake --build "$work/app/build"
  app=$work/app/build/app
else
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name godwit.pc)")
  export PKG_CONFIG_PATH
  flags=$(pkg-config --cflags --libs godwit)
  libdir=$(pkg-config --variable=libdir godwit)
  app=$work/app/app
  # shellcheck disable=SC2086  # several flags
  "$compiler" -std=c++20 -Wall -Wextra -Werror "$work/app/app.cpp" -o "$app" $flags -Wl,-rpath,"$libdir"
fi

"$prefix/bin/godwit" info >"$work/info" || { cat "$work/info"; exit 1; }
for launcher in mpirun godwit; do
  "$source/tests/process/launch.py" --launcher "$launcher" -n 2 --godwit "$prefix/bin/godwit" --timeout 60 \
    --expect '^sum of ranks: 1$' -- "$app"
done
