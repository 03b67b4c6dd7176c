# SPDX-License-Identifier: Apache-2.0
# timerd for Nix, from the tarball of `make tarball`:
#
#   nix-build packaging/nix --arg tarball ./timerd-0.1.0-linux-x86_64.tar.gz
{ pkgs ? import <nixpkgs> { }, tarball }:

pkgs.stdenv.mkDerivation {
  pname = "timerd";
  version = "0.1.0";
  src = tarball;

  nativeBuildInputs = [ pkgs.autoPatchelfHook ];
  buildInputs = [ pkgs.sqlite pkgs.linux-pam pkgs.stdenv.cc.cc.lib ];

  dontConfigure = true;
  dontBuild = true;
  dontStrip = true;

  # PAM's file is the module's. What install.sh asks of the machine, such as ldd, is autoPatchelfHook's here.
  installPhase = ''
    runHook preInstall
    mkdir -p $out
    cp -a tree/usr/local/. $out/
    for unit in $out/lib/systemd/*/*.service; do
      substituteInPlace $unit --replace-quiet /usr/local/sbin/ $out/sbin/
    done
    runHook postInstall
  '';

  meta = {
    description = "Daemon that owns jobs in time and fires them to the millisecond";
    license = pkgs.lib.licenses.asl20;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "timerctl";
  };
}
