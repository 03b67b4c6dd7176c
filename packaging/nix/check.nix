# SPDX-License-Identifier: Apache-2.0
# Evaluates both files without nixpkgs, on stand-ins for what they take of it: their words and attributes are right.
let
  lib = {
    mkEnableOption = text: { inherit text; };
    mkOption = option: option;
    mkIf = condition: value: if condition then value else { };
    types = { package = "package"; attrs = "attrs"; };
    licenses.asl20 = "Apache-2.0";
  };
  pkgs = {
    inherit lib;
    stdenv = { mkDerivation = attributes: attributes; cc.cc.lib = "gcc"; };
    autoPatchelfHook = "autoPatchelfHook";
    sqlite = "sqlite";
    linux-pam = "pam";
    coreutils = "coreutils";
  };
  package = import ./default.nix { inherit pkgs; tarball = "timerd.tar.gz"; };
  module = enable: import ./module.nix {
    inherit lib pkgs;
    config = {
      services.timerd = { inherit enable package; settings = { maxRuns = 5; }; };
      systemd.package = "systemd";
    };
  };
in
{
  version = package.version;
  settings = (module true).config.environment.etc."timerd/timerd.json".text;
  runnerRestarts = (module true).config.systemd.services.timerd-runner.restartIfChanged;
  off = (module false).config;
  options = builtins.attrNames (module true).options.services.timerd;
}
