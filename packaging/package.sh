#!/usr/bin/env bash
# npm run package: makes one executable of the program and its runtime, an archive and a Debian
# package of it and what belongs to it, and a list of the SHA-256 of each. Two builds of a commit
# give the same bytes: owners, modes and order are fixed, and all times are those of the commit.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
PATH=$PWD/node_modules/.bin:$PATH
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
version=$(node -p 'require("./package.json").version')
platform=$(node -p 'process.platform + "-" + process.arch')
if [[ $platform != linux-* ]]; then
  echo "the executable is made on Linux only; elsewhere install the npm package" >&2
  exit 1
fi
npm run -s build
npm run -s man
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2 && exit 1; }; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf release
mkdir release

# The launcher is the main script of the executable, and the files of the build are its assets.
quietly rolldown bin/vault.js --platform node --format cjs --file "$scratch/main.cjs"
node >"$scratch/sea.json" <<'END'
const { readdirSync } = require("fs");
const assets = readdirSync("dist").map((name) => [name, `${process.cwd()}/dist/${name}`]);
const config = { main: "main.cjs", output: "blob", assets: Object.fromEntries(assets) };
console.log(JSON.stringify({ ...config, disableExperimentalSEAWarning: true }));
END
(cd "$scratch" && quietly node --experimental-sea-config sea.json)
cp node_modules/node/bin/node release/vault
quietly postject release/vault NODE_SEA_BLOB "$scratch/blob" \
  --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2

name=vault-$version-$platform
parts=$scratch/$name
mkdir "$parts"
cp -R release/vault packaging/INSTALL completions man CHANGELOG.md THIRD-PARTY-NOTICES.md "$parts"
cp "node_modules/node/node_modules/node-$platform/LICENSE" "$parts/LICENSE-Node.txt"
tar --directory="$scratch" --sort=name --format=ustar --owner=root:0 --group=root:0 --mode=u=rwX,go=rX \
  --mtime="@$SOURCE_DATE_EPOCH" --use-compress-program="gzip -n" -cf "release/$name.tar.gz" "$name"

if command -v dpkg-deb >/dev/null; then
  # Installed as vaultsvc; the name vault is an alternative (debian/postinst).
  tree=$scratch/tree
  share=$tree/usr/share
  documents=$share/doc/vaultsvc
  put() { install -D -m "${3:-644}" "$1" "$2"; }
  put "$parts/vault" "$tree/usr/bin/vaultsvc" 755
  for page in man/*; do put "$page" "$share/man/man${page##*.}/${page#man/}"; done
  mv "$share/man/man1/vault.1" "$share/man/man1/vaultsvc.1"
  put completions/vault.bash "$share/bash-completion/completions/vaultsvc"
  put completions/_vault "$share/zsh/vendor-completions/_vault"
  put completions/vault.fish "$share/fish/vendor_completions.d/vaultsvc.fish"
  for file in CHANGELOG.md THIRD-PARTY-NOTICES.md LICENSE-Node.txt; do put "$parts/$file" "$documents/$file"; done
  gzip -9n "$share"/man/*/* "$documents"/*
  put packaging/debian/copyright "$documents/copyright"
  for script in postinst prerm; do put "packaging/debian/$script" "$tree/DEBIAN/$script" 755; done
  (cd "$tree" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
  # A hyphen would begin a revision of Debian's; ~ comes before the release.
  version=${version/-/\~}
  cat >"$tree/DEBIAN/control" <<END
Package: vaultsvc
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: $(git log -1 --format='%an <%ae>')
Installed-Size: $(find "$tree/usr" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }')
Depends: libc6 (>= 2.28), libstdc++6 (>= 8)
Suggests: bash-completion
Section: admin
Priority: optional
Description: command line for remote, encrypted vaults
 Every read or update of a vault replaces its credentials. This program reads
 and updates vaults so that the new credentials are never lost and no vault is
 locked: it stores them durably, delivers the contents, and only then
 acknowledges.
END
  quietly dpkg-deb --root-owner-group -Zgzip -z6 --build "$tree" release
else
  echo "no Debian package is made: dpkg-deb not found"
fi

(cd release && sha256sum -- * >"$scratch/sums" && mv "$scratch/sums" SHA256SUMS && cat SHA256SUMS)
