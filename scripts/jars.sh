#!/usr/bin/env bash
# Java parts: broker jars, connector jars, and our own Flink connector. Nothing happens when inputs are unchanged.
source "$(dirname "$0")/lib.sh"
PLUGIN=org.apache.maven.plugins:maven-dependency-plugin:3.8.1

copy_jars() { # copy_jars NAME POM: all runtime jars of a pom into build/jars/NAME
  local name=$1 pom=$2 target=$BUILD/jars/$1 key
  key=$(digest "$pom" scripts/jars.sh)
  fresh "jars-$name" "$key" "$target" && return
  say "jars of $name from Maven"
  rm -rf "$target.new"
  quietly "jars-$name" mvn -B -ntp -q -f "$pom" "$PLUGIN:copy-dependencies" \
    -DincludeScope=runtime -DoutputDirectory="$PWD/$target.new"
  mkdir -p "$target"
  find "$target" -name '*.jar' -not -name 'featuredsl-*' -delete
  mv "$target.new"/*.jar "$target/"
  rmdir "$target.new"
  stamp "jars-$name" "$key"
}

build_connector() {
  local source=jobs/flink/connector jar=featuredsl-flink-connector.jar key
  [ -f "$source/pom.xml" ] || return 0
  key=$(digest "$source/pom.xml" "$source/src")
  fresh connector "$key" "$BUILD/jars/flink/$jar" && return
  say "our Flink connector (Maven build)"
  quietly connector mvn -B -ntp -q -f "$source/pom.xml" clean package -DskipTests
  mkdir -p "$BUILD/jars/flink"
  cp "$source/target/$jar" "$BUILD/jars/flink/$jar.new"
  mv "$BUILD/jars/flink/$jar.new" "$BUILD/jars/flink/$jar"
  stamp connector "$key"
}

need java "install a JDK 17 and put its bin folder on the PATH"
need mvn "install Maven 3.8 or newer"
copy_jars kafka localstack/kafka/pom.xml
copy_jars flink jobs/flink/pom.xml
copy_jars spark jobs/spark/pom.xml
build_connector
